-- Indexes all records again by the rules of migration 25, while servers answer. The records are
-- locked first: the function then sees what was written before.
select id
from reparse_videos(array(
  select id from video where id > $1 order by id limit 50 for no key update
)) as id;
