-- Origins whose signals contradict each other: against training but open to crawlers that collect for it, in favor of
-- it but closed to them, and the contradictions found in the file itself.
CREATE OR REPLACE VIEW conflicts AS
SELECT t.origin, t.rank, 'against_training_but_open' AS conflict, a.crawler
FROM training t JOIN crawler_access a USING (origin)
WHERE t.scope = 'against' AND a.access = 'full' AND a.purpose IN ('ai-training', 'dataset')
UNION ALL
SELECT t.origin, t.rank, 'in_favor_of_training_but_closed', a.crawler
FROM training t JOIN crawler_access a USING (origin)
WHERE t.scope = 'in_favor' AND t.token_present AND a.access = 'blocked' AND a.purpose IN ('ai-training', 'dataset')
UNION ALL
SELECT origin, rank, unnest(conflicts), NULL FROM training WHERE len(conflicts) > 0;
