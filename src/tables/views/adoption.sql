-- Adoption of the training token by rank band and top-level domain. The denominator is n_determinable: origins that
-- answered with rules or with "there are none"; all others might carry the token unseen.
CREATE OR REPLACE VIEW adoption AS
WITH origins AS (
    SELECT
        rank_band(f.rank) AS rank_band,
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
