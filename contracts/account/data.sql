insert into account
select i, 'Account "' || md5((:seed + i::bigint * 7919)::text) || '" – ü', (:seed % 1000003 + i::bigint * 104729) % 100000000
from generate_series(1, 10000) i;
analyze;
