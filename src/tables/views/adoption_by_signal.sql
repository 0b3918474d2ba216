-- Adoption of each signal by rank band and top-level domain. As in adoption, the denominator is n_determinable; n counts
-- those of these origins that have the signal: what the wildcard's groups say about `/`, or what the whole file has.
CREATE OR REPLACE VIEW adoption_by_signal AS
WITH signals AS (
    SELECT
        rank_band(f.rank) AS rank_band,
        regexp_extract(f.url_host_name, '([^.]+)\.?$', 1) AS tld,
        unnest([
            {signal: 'training_token', has_it: t.token_present},
            {signal: 'near_miss', has_it: len(t.near_misses) > 0},
            {signal: 'other_policy_token', has_it: len(t.other_policy_tokens) > 0},
            {signal: 'content_usage', has_it: t.content_usage_train_ai IS NOT NULL OR t.content_usage_search IS NOT NULL},
            {signal: 'content_usage_train_ai_allow', has_it: t.content_usage_train_ai = 'allow'},
            {signal: 'content_usage_train_ai_disallow', has_it: t.content_usage_train_ai = 'disallow'},
            {signal: 'content_usage_search_allow', has_it: t.content_usage_search = 'allow'},
            {signal: 'content_usage_search_disallow', has_it: t.content_usage_search = 'disallow'},
            {signal: 'content_signal', has_it: t.content_signal_search IS NOT NULL
                OR t.content_signal_ai_input IS NOT NULL OR t.content_signal_ai_train IS NOT NULL},
            {signal: 'content_signal_search_yes', has_it: t.content_signal_search = 'yes'},
            {signal: 'content_signal_search_no', has_it: t.content_signal_search = 'no'},
            {signal: 'content_signal_ai_input_yes', has_it: t.content_signal_ai_input = 'yes'},
            {signal: 'content_signal_ai_input_no', has_it: t.content_signal_ai_input = 'no'},
            {signal: 'content_signal_ai_train_yes', has_it: t.content_signal_ai_train = 'yes'},
            {signal: 'content_signal_ai_train_no', has_it: t.content_signal_ai_train = 'no'},
            {signal: 'rsl_license', has_it: len(t.rsl_license_urls) > 0},
            {signal: 'cloudflare_managed', has_it: t.cloudflare_managed},
            {signal: 'names_ai_crawler', has_it: t.names_ai_crawler},
            {signal: 'conflict', has_it: len(t.conflicts) > 0}
        ], recursive := true)
    FROM training t JOIN fetches f USING (origin)
    WHERE f.fetch_class IN ('ok', 'missing')
)
SELECT
    signal,
    rank_band,
    tld,
    count(*) AS n_determinable,
    count(*) FILTER (has_it) AS n,
    n / n_determinable AS share
FROM signals
GROUP BY ALL
ORDER BY signal, n_determinable DESC, rank_band, tld;
