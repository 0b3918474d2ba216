-- One evidence record per decision. fetch_status and observed_final_url are those of the page; null: not observed.
CREATE OR REPLACE VIEW evidence AS
SELECT
    d.url AS requested_url,
    d.origin AS checked_origin,
    d.crawler AS crawler_identity,
    f.fetch_status AS robots_status,
    d.matched_rule,
    d.rule_line,
    d.decision,
    d.decision_source,
    d.checked_at,
    NULL::SMALLINT AS fetch_status,
    NULL::VARCHAR AS observed_final_url
FROM decisions d LEFT JOIN fetches f USING (origin);
