-- Crawlers with a group of their own that leaves rules of the wildcard behind: often not what was meant.
CREATE OR REPLACE VIEW star_rule_traps AS
SELECT origin, rank, crawler, group_source, access, n_allow, n_disallow, drops_star_rules
FROM crawler_access
WHERE drops_star_rules > 0
ORDER BY drops_star_rules DESC, origin, crawler;
