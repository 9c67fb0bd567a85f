-- Counts the talks that are older than talk_cube. One statement sees the talks and the cube as of one
-- moment, and the triggers keep the difference between them the same: so it adds the difference,
-- while servers write.
insert into talk_cube (year_key, language_id, length, talks)
select year_key, language_id, length, sum(talks)
from (
  select year_key_of(recorded) as year_key, language_id, duration_range_of(duration) as length,
         1 as talks
  from video
  where state = 1 and taken_down is null
  union all
  select year_key, language_id, length, -talks
  from talk_cube
) as difference
group by year_key, language_id, length
having sum(talks) <> 0
limit 1000;
