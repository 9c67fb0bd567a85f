-- Adds the sources of all records, while servers answer. The records are locked first: the function
-- then sees what was written before.
select id
from refresh_video_sources(array(
  select id from video where id > $1 order by id limit 200 for no key update
)) as id;
