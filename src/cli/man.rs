//! `man`: pages made of the same words as `--help`, with examples as they are typed and the environment.

use anyhow::anyhow;
use clap::{Arg, Command, CommandFactory};
use clap_mangen::Man;
use roff::{Inline, Roff, bold, roman};

use super::args::Cli;
use super::exit::Failed;

/// The page of the program, or of one of its subcommands (`report blocklist`, for example), in roff.
pub(super) fn page(names: &[String]) -> Result<Vec<u8>, Failed> {
    let command = command(names)?;
    let name = command.get_display_name().unwrap_or("robots-audit").to_owned();
    let words = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string);
    let variables: Vec<&Arg> = command.get_arguments().filter(|argument| argument.get_env().is_some()).collect();
    let mut behind = Roff::new();
    environment(&mut behind, &variables);
    closing_words(&mut behind, words.as_deref().unwrap_or_default());
    let version = concat!("robots-audit ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).title(name).source(version).manual("robots-audit");
    let mut page = Vec::new();
    man.render_title(&mut page)
        .and_then(|()| man.render_name_section(&mut page))
        .and_then(|()| man.render_synopsis_section(&mut page))
        .and_then(|()| man.render_description_section(&mut page))
        .and_then(|()| man.render_options_section(&mut page))
        .and_then(|()| if command.has_subcommands() { man.render_subcommands_section(&mut page) } else { Ok(()) })
        .and_then(|()| behind.to_writer(&mut page))
        .map_err(Failed::running)?;
    Ok(page)
}

fn command(names: &[String]) -> Result<Command, Failed> {
    let mut page = Cli::command();
    page.build();
    for name in names {
        let found = page.find_subcommand(name).cloned();
        page = found.ok_or_else(|| Failed::before(anyhow!("there is no subcommand {name:?}")))?;
    }
    Ok(page)
}

/// The variables that stand for flags.
fn environment(roff: &mut Roff, arguments: &[&Arg]) {
    if arguments.is_empty() {
        return;
    }
    roff.control("SH", ["ENVIRONMENT"]);
    for argument in arguments {
        let variable = argument.get_env().unwrap_or_default().to_string_lossy().into_owned();
        let flag = argument.get_long().unwrap_or_default();
        roff.control("TP", []).text([bold(variable)]).text([roman("Takes the place of "), bold(format!("--{flag}"))]);
    }
}

/// What `--help` ends with, a paragraph at a time.
fn closing_words(roff: &mut Roff, words: &str) {
    for paragraph in words.split("\n\n").filter(|paragraph| !paragraph.is_empty()) {
        if let Some(examples) = paragraph.strip_prefix("Examples:\n") {
            roff.control("SH", ["EXAMPLES"]);
            as_typed(roff, examples);
        } else if let Some(codes) = paragraph.strip_prefix("Exit codes: ") {
            roff.control("SH", ["EXIT STATUS"]).text([roman(codes)]);
        } else {
            roff.control("PP", []).text([roman(paragraph)]);
        }
    }
}

/// Lines that stay as they are.
fn as_typed(roff: &mut Roff, lines: &str) {
    roff.control("nf", []);
    let lines: Vec<Vec<Inline>> = lines.lines().map(|line| vec![roman(line)]).collect();
    for line in lines {
        roff.text(line);
    }
    roff.control("fi", []);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(names: &[&str]) -> String {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        String::from_utf8(page(&names).expect("a subcommand")).expect("text")
    }

    #[test]
    fn every_page_has_its_name_and_the_version() {
        for names in [&[][..], &["scan"], &["report", "blocklist"], &["man"]] {
            let page = text(names);
            let name = [&["robots-audit"][..], names].concat().join("-");
            let title = page.lines().find(|line| line.starts_with(".TH")).expect("a title").replace('\\', "");
            assert!(title.contains(&name) && title.contains(env!("CARGO_PKG_VERSION")), "{title}");
        }
    }

    #[test]
    fn examples_stay_as_typed_and_variables_are_named() {
        let page = text(&["check"]);
        assert!(page.contains(".SH EXAMPLES\n.nf\n") && !page.contains("EXTRA"), "{page}");
        assert!(page.contains(".SH ENVIRONMENT\n") && page.contains("ROBOTS_AUDIT_CRAWLERS"), "{page}");
        assert!(text(&[]).contains(".SH \"EXIT STATUS\"\n"));
    }

    #[test]
    fn no_page_for_what_is_no_subcommand() {
        assert!(page(&["scan".to_owned(), "all".to_owned()]).is_err());
    }
}
