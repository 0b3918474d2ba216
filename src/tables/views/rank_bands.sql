-- The bands that ranks of a list are counted in.
CREATE OR REPLACE MACRO rank_band(rank) AS
    CASE
        WHEN rank IS NULL THEN 'unranked'
        WHEN rank <= 1000 THEN '1-1000'
        WHEN rank <= 10000 THEN '1001-10000'
        WHEN rank <= 100000 THEN '10001-100000'
        WHEN rank <= 1000000 THEN '100001-1000000'
        ELSE 'over 1000000'
    END;
