-- How many origins are open to each crawler. Shares are of n_determinable.
CREATE OR REPLACE VIEW blocked_by_crawler AS
SELECT
    a.crawler,
    any_value(a.operator) AS operator,
    any_value(a.purpose) AS purpose,
    count(*) AS n_origins,
    count(*) FILTER (f.fetch_class IN ('ok', 'missing')) AS n_determinable,
    count(*) FILTER (f.fetch_class IN ('ok', 'missing') AND a.group_source = 'named') AS n_named,
    count(*) FILTER (f.fetch_class IN ('ok', 'missing') AND a.access = 'full') AS n_full,
    count(*) FILTER (f.fetch_class IN ('ok', 'missing') AND a.access = 'partial') AS n_partial,
    count(*) FILTER (f.fetch_class IN ('ok', 'missing') AND a.access = 'blocked') AS n_blocked,
    n_origins - n_determinable AS n_not_determinable,
    n_blocked / nullif(n_determinable, 0) AS share_blocked
FROM crawler_access a JOIN fetches f USING (origin)
GROUP BY a.crawler
ORDER BY n_blocked DESC, a.crawler;
