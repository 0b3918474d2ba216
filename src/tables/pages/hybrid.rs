//! The RLE/bit-packing hybrid of the Parquet format, fed with runs.
//!
//! Numbers of a fixed width stand either in a repeated run (how often, the number once) or bit-packed in groups of
//! eight. A run becomes a repeated one where that takes fewer octets than packing it.

/// Groups of eight in one bit-packed section: as many as its header tells in two octets.
const MOST_GROUPS: usize = (1 << 13) - 1;

/// Numbers in one group.
const GROUP: usize = 8;

/// How many bits a number needs.
pub(super) const fn bits_of(number: u32) -> u32 {
    u32::BITS - number.leading_zeros()
}

/// Encodes numbers of one width behind what stands in a buffer.
#[derive(Debug)]
pub(super) struct Hybrid<'o> {
    out: &'o mut Vec<u8>,
    width: u32,
    /// The run that may still go on.
    open: (u32, usize),
    /// The bit-packed section that may still go on.
    section: Option<Section>,
}

#[derive(Debug, Default)]
struct Section {
    /// Where its header belongs.
    header: usize,
    numbers: usize,
    /// Bits that do not fill four octets yet.
    bits: u64,
    count: u32,
}

impl<'o> Hybrid<'o> {
    /// An encoder of numbers below 2^width.
    pub(super) const fn new(width: u32, out: &'o mut Vec<u8>) -> Self {
        Self { out, width, open: (0, 0), section: None }
    }

    /// Adds a number so many times.
    pub(super) fn push(&mut self, number: u32, times: u32) {
        if self.open.0 != number {
            self.end_run();
            self.open = (number, 0);
        }
        self.open.1 += times as usize;
    }

    /// Ends the sequence.
    pub(super) fn finish(mut self) {
        self.end_run();
        self.end_section();
    }

    fn end_run(&mut self) {
        let (number, times) = std::mem::take(&mut self.open);
        let missing = self.section.as_ref().map_or(0, |section| (GROUP - section.numbers % GROUP) % GROUP);
        if times >= missing + self.worth_repeating() {
            self.pack(number, missing);
            self.end_section();
            self.repeat(number, times - missing);
        } else {
            self.pack(number, times);
        }
    }

    /// From how many times on a repeated run is the smaller way. Inside a section it also costs a new header behind it.
    /// Narrow numbers are packed up to a whole group: a mixture saves nothing there and compresses worse.
    const fn worth_repeating(&self) -> usize {
        if self.width == 0 {
            return 1;
        }
        if self.width <= u8::BITS {
            return GROUP;
        }
        let octets = 1 + self.width.div_ceil(8) + self.section.is_some() as u32;
        (8 * octets).div_ceil(self.width) as usize
    }

    fn repeat(&mut self, number: u32, times: usize) {
        let mut header = times << 1;
        while header > 0x7f {
            self.out.push(low_octet(header) | 0x80);
            header >>= 7;
        }
        self.out.push(low_octet(header));
        self.out.extend_from_slice(&number.to_le_bytes()[..self.width.div_ceil(8) as usize]);
    }

    fn pack(&mut self, number: u32, times: usize) {
        for _ in 0..times {
            if self.section.as_ref().is_some_and(|section| section.numbers == MOST_GROUPS * GROUP) {
                self.end_section();
            }
            let out = &mut *self.out;
            let section = self.section.get_or_insert_with(|| {
                out.push(0);
                Section { header: out.len() - 1, ..Section::default() }
            });
            section.numbers += 1;
            section.bits |= u64::from(number) << section.count;
            section.count += self.width;
            if section.count >= u32::BITS {
                out.extend_from_slice(&section.bits.to_le_bytes()[..4]);
                section.bits >>= u32::BITS;
                section.count -= u32::BITS;
            }
        }
    }

    /// Ends a section; the last group is filled with zeros, which readers do not take for numbers.
    fn end_section(&mut self) {
        let Some(section) = self.section.take() else { return };
        let groups = section.numbers.div_ceil(GROUP);
        let end = section.header + 1 + groups * self.width as usize;
        self.out.extend_from_slice(&section.bits.to_le_bytes()[..section.count.div_ceil(8) as usize]);
        self.out.resize(end, 0);
        let header = groups << 1 | 1;
        self.out[section.header] = low_octet(header) & 0x7f;
        if header > 0x7f {
            // Long sections are few, and cheaper to move than to begin anew.
            self.out[section.header] |= 0x80;
            self.out.insert(section.header + 1, low_octet(header >> 7));
        }
    }
}

const fn low_octet(number: usize) -> u8 {
    number.to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The format, read in the plainest way.
    fn decode(mut octets: &[u8], width: u32, count: usize) -> Vec<u32> {
        let mut numbers = Vec::new();
        while numbers.len() < count {
            let mut header = 0_usize;
            for shift in (0..).step_by(7) {
                header |= usize::from(octets[0] & 0x7f) << shift;
                let is_last = octets[0] & 0x80 == 0;
                octets = &octets[1..];
                if is_last {
                    break;
                }
            }
            if header & 1 == 0 {
                let (value, rest) = octets.split_at(width.div_ceil(8) as usize);
                let number = value.iter().rev().fold(0, |number, octet| number << 8 | u32::from(*octet));
                numbers.extend(std::iter::repeat_n(number, header >> 1));
                octets = rest;
            } else {
                let (packed, rest) = octets.split_at((header >> 1) * width as usize);
                let bit = |at: usize| u32::from(packed[at / 8] >> (at % 8) & 1);
                let number =
                    |n: usize| (0..width).fold(0, |number, b| number | bit(n * width as usize + b as usize) << b);
                numbers.extend((0..(header >> 1) * 8).map(number));
                octets = rest;
            }
        }
        assert!(octets.is_empty());
        numbers.truncate(count);
        numbers
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_read_again(width in 0_u32..=32, runs in prop::collection::vec((any::<u32>(), 1_u32..40), 1..300)) {
            let mask = u32::try_from((1_u64 << width) - 1).unwrap();
            let runs: Vec<_> = runs.into_iter().map(|(number, times)| (number & mask, if times > 20 { times - 20 } else { 1 })).collect();
            let mut octets = vec![9];
            let mut hybrid = Hybrid::new(width, &mut octets);
            for (number, times) in &runs {
                hybrid.push(*number, *times);
            }
            hybrid.finish();
            let numbers: Vec<_> = runs.iter().flat_map(|(number, times)| std::iter::repeat_n(*number, *times as usize)).collect();
            prop_assert_eq!(octets[0], 9);
            prop_assert_eq!(decode(&octets[1..], width, numbers.len()), numbers);
        }
    }

    #[test]
    fn long_runs_take_few_octets() {
        let mut octets = Vec::new();
        let mut hybrid = Hybrid::new(15, &mut octets);
        hybrid.push(3, 50);
        hybrid.push(20_000, 50);
        hybrid.finish();
        assert_eq!(octets, [100, 3, 0, 100, 0x20, 0x4e]);
    }
}
