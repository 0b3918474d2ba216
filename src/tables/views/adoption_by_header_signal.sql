-- What the header fields of the robots.txt answers say, by rank band and top-level domain. The denominator is
-- n_answered: origins that gave an answer, whatever its status. Such a field describes the answer that it came with;
-- that a server sends it with its pages too is likely, and not observed.
CREATE OR REPLACE VIEW adoption_by_header_signal AS
WITH answered AS (
    SELECT
        origin,
        rank_band(rank) AS rank_band,
        regexp_extract(url_host_name, '([^.]+)\.?$', 1) AS tld
    FROM fetches
    WHERE fetch_status IS NOT NULL
), bands AS (
    SELECT rank_band, tld, count(*) AS n_answered FROM answered GROUP BY ALL
), signals AS (
    SELECT unnest([
        'content_usage', 'content_usage_train_ai_allow', 'content_usage_train_ai_disallow',
        'content_usage_search_allow', 'content_usage_search_disallow',
        'x_robots_noai', 'x_robots_noimageai', 'x_robots_noml', 'x_robots_noarchive', 'x_robots_nocache',
        'x_robots_for_one_agent', 'tdm_reserved', 'tdm_not_reserved', 'tdm_policy', 'rsl_license', 'pay_per_crawl'
    ]) AS signal
), said AS (
    SELECT DISTINCT origin, unnest([
        CASE WHEN signal = 'content_usage' THEN 'content_usage' END,
        CASE WHEN signal = 'content_usage' AND term IN ('train-ai', 'search') AND reading IN ('allow', 'disallow')
            THEN 'content_usage_' || replace(term, '-', '_') || '_' || reading END,
        CASE WHEN signal = 'x_robots_tag' AND (agent IS NULL OR agent = '*') THEN 'x_robots_' || term END,
        CASE WHEN signal = 'x_robots_tag' AND agent <> '*' THEN 'x_robots_for_one_agent' END,
        CASE WHEN signal = 'tdm_reservation' THEN 'tdm_' || reading END,
        CASE WHEN signal = 'tdm_policy' AND url IS NOT NULL THEN 'tdm_policy' END,
        CASE WHEN signal IN ('rsl_license', 'pay_per_crawl') THEN signal END
    ]) AS signal
    FROM response_signals
), counted AS (
    SELECT rank_band, tld, signal, count(*) AS n FROM said JOIN answered USING (origin) GROUP BY ALL
)
SELECT
    signal,
    rank_band,
    tld,
    n_answered,
    coalesce(counted.n, 0) AS n,
    coalesce(counted.n, 0) / n_answered AS share
FROM bands CROSS JOIN signals LEFT JOIN counted USING (rank_band, tld, signal)
ORDER BY signal, n_answered DESC, rank_band, tld;
