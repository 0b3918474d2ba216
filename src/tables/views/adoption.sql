-- Adoption of the training token by rank band and top-level domain. The denominator is n_determinable: origins that
-- answered with rules or with "there are none"; all others might carry the token unseen.
CREATE OR REPLACE VIEW adoption AS
WITH origins AS (
    SELECT
        CASE
            WHEN f.rank IS NULL THEN 'unranked'
            WHEN f.rank <= 1000 THEN '1-1000'
            WHEN f.rank <= 10000 THEN '1001-10000'
            WHEN f.rank <= 100000 THEN '10001-100000'
            WHEN f.rank <= 1000000 THEN '100001-1000000'
            ELSE 'over 1000000'
        END AS rank_band,
        regexp_extract(f.url_host_name, '([^.]+)\.?$', 1) AS tld,
        f.fetch_class IN ('ok', 'missing') AS is_determinable,
        coalesce(t.token_present, false) AS has_token,
        t.root_preference,
        t.scope
    FROM training t JOIN fetches f USING (origin)
)
SELECT
    rank_band,
    tld,
    count(*) AS n_origins,
    count(*) FILTER (is_determinable) AS n_determinable,
    count(*) FILTER (is_determinable AND has_token) AS n_token,
    count(*) FILTER (is_determinable AND scope = 'against') AS n_against,
    count(*) FILTER (is_determinable AND scope = 'mixed') AS n_mixed,
    count(*) FILTER (is_determinable AND scope = 'in_favor' AND has_token) AS n_in_favor,
    n_token / nullif(n_determinable, 0) AS share_token
FROM origins
GROUP BY ALL
ORDER BY n_determinable DESC, rank_band, tld;
