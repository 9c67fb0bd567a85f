-- What is wrong in a restored archive: a number, and what it counts. All must be 0.
select count(*), 'records without their text, or with that of another revision'
from video left join video_body using (id)
where video_body.revision is distinct from video.revision;

select count(*), 'records whose revision is not in the history'
from video
where not exists (
  select from change
  where subject = 'video' and subject_id = video.id and change.revision = video.revision);

select count(*), 'live records that searches do not find, or the reverse'
from (select id from video where state = 1 and taken_down is null) as live
full join (select distinct id from video_search where year_key is not null) as found using (id)
where live.id is null or found.id is null;

select abs(seq - (select count(*) from feed_entry)), 'gaps in the change feed'
from feed_head;

select count(*), 'records of events that do not exist'
from video left join category on category.id = category_id
where category.id is null;
