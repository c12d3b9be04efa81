-- Messages that must be escaped, and whose order by code points is not that of UTF-16 units or of a language.
insert into fortune
select i, case i % 10
    when 0 then 'A "quote" and ''another'' ' || x
    when 1 then '<script>alert("' || x || '");</script>'
    when 2 then 'フレームワークのベンチマーク ' || x
    when 3 then '😀 ' || x || ' & more &amp; <b>more</b>'
    when 4 then '～ ' || x || ' stands before 😀 by code points'
    when 5 then 'zebra ' || x
    when 6 then 'Zebra ' || x
    when 7 then 'Äpfel ' || x
    when 8 then x || ' {{ 1 + 1 }} <%= 1 %> ${1} `'
    else 'Additional ' || x
end
from (select i, md5((:seed + i::bigint * 7919)::text) as x from generate_series(1, 200) i) drawn;
analyze;
