#!/bin/sh
# Usage: /etc/talkshelf/restore-drill.sh [TIME]
#
# Restores the newest backup and all of the log after it, or up to TIME, into a folder of this host;
# starts PostgreSQL there, without a network; and checks the archive in it. Prints how long that took.
# Fails if anything is wrong. The backups are only read. Runs weekly as root. Rendered from
# deploy/cluster.
set -eu

folder=/var/lib/talkshelf-restore-drill
data=$folder/data
bin=/usr/lib/postgresql/@postgresql@/bin
# node_exporter of Debian reads it.
metrics=/var/lib/prometheus/node-exporter/talkshelf-restore-drill.prom
max_age_s=93600 # 26 hours: a day, and time for the backup itself
time=${1:-}

as_postgres() { runuser -u postgres -- "$@"; }
backrest() { as_postgres pgbackrest --config=/etc/pgbackrest-drill.conf --stanza=talkshelf "$@"; }
now() { date +%s; }

fail() {
  printf 'Failed: %s\n' "$1" >&2
  exit 1
}

stop_postgres() {
  if [ -e "$data/postmaster.pid" ]; then
    as_postgres "$bin/pg_ctl" --pgdata="$data" --mode=immediate --silent stop || true
  fi
}

# Also after a failure, and after a drill that was killed.
clean_up() {
  stop_postgres
  rm -rf "$folder"
}

started=$(now)
succeeded=0
finish() {
  clean_up
  [ -d "${metrics%/*}" ] || return 0
  cat >"$metrics.part" <<END
# HELP talkshelf_restore_drill_success Whether the last restore drill succeeded.
# TYPE talkshelf_restore_drill_success gauge
talkshelf_restore_drill_success $succeeded
# HELP talkshelf_restore_drill_timestamp_seconds When the last restore drill ended.
# TYPE talkshelf_restore_drill_timestamp_seconds gauge
talkshelf_restore_drill_timestamp_seconds $(now)
# HELP talkshelf_restore_drill_duration_seconds How long the last restore drill took.
# TYPE talkshelf_restore_drill_duration_seconds gauge
talkshelf_restore_drill_duration_seconds $(($(now) - started))
END
  chmod 644 "$metrics.part"
  mv "$metrics.part" "$metrics"
}
cd /
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

clean_up
# The size of the newest backup when it is restored.
size=$(backrest info --output=json | grep -o '"size":[0-9]*' | tail -n 1 | cut -d: -f2)
[ -n "$size" ] || fail 'there is no backup. See: pgbackrest --stanza=talkshelf info'
# The newest segment of the log in the archive, without its timeline.
archived=$(backrest info --output=json | grep -o '"max":"[0-9A-F]*"' | tail -n 1 | tr -dc 0-9A-F |
  cut -c 9-)
free=$(df --output=avail --block-size=1 /var/lib | tail -n 1)
[ "$((free / 5))" -gt "$((size / 4))" ] ||
  fail "the restored archive has $size bytes, and only $free are free. Make space in /var/lib."
install -d -o postgres -g postgres -m 700 "$folder" "$data"

if [ -n "$time" ]; then
  backrest --type=time --target="$time" --target-action=promote restore
else
  backrest restore
fi
restored=$(now)

printf 'local all all peer\n' >"$folder/pg_hba.conf"
# What Patroni configured is for the hosts of the cluster.
as_postgres "$bin/pg_ctl" --pgdata="$data" --log="$folder/log" --silent --timeout=86400 start \
  --options="-c listen_addresses= -c unix_socket_directories=$folder -c hba_file=$folder/pg_hba.conf \
    -c ssl=off -c archive_mode=off -c synchronous_standby_names= -c shared_buffers=128MB \
    -c hot_standby=on -c logging_collector=off -c log_destination=stderr" || {
  tail -n 20 "$folder/log" >&2
  fail 'PostgreSQL did not start with the restored files.'
}
psql() {
  as_postgres "$bin/psql" --no-psqlrc --quiet --host="$folder" --dbname="$1" \
    --set=ON_ERROR_STOP=1 --tuples-only --no-align --field-separator=' ' "$2" "$3"
}
# A day is the longest that any replay may take.
deadline=$((started + 86400))
while [ "$(psql postgres --command 'select pg_is_in_recovery()')" != f ]; do
  [ "$(now)" -lt "$deadline" ] || fail 'the log was not replayed within a day.'
  sleep 0.5
done
replayed=$(now)

# PostgreSQL takes a missing segment for the end of the log.
reached=$(psql postgres --command 'select substr(pg_walfile_name(pg_last_wal_replay_lsn()), 9)')
if [ -z "$time" ] && [ "$(printf '%s\n' "$archived" "$reached" | sort | head -n 1)" != "$archived" ]
then
  fail "the log was replayed up to $reached only, and the archive has $archived: one in between is missing."
fi

# Each line: a number, and what it counts. Lines that begin with 0 are fine.
checks=$(psql talkshelf --file /etc/talkshelf/restore-checks.sql)
wrong=$(printf '%s\n' "$checks" | grep -v '^0 ' || true)
[ -z "$wrong" ] || fail "the restored archive is damaged: $wrong"
age_s=$(psql talkshelf --command \
  "select coalesce(extract(epoch from now() - max(at)), 0)::bigint from change")
talks=$(psql talkshelf --command 'select count(*) from video')
last=$(psql talkshelf --command 'select max(at) from change')
as_postgres "$bin/pg_amcheck" --host="$folder" --database=talkshelf --install-missing --heapallindexed \
  >"$folder/amcheck" 2>&1 || {
  tail -n 20 "$folder/amcheck" >&2
  fail 'tables or indexes of the restored archive are damaged.'
}
as_postgres "$bin/pg_ctl" --pgdata="$data" --silent stop
as_postgres "$bin/pg_checksums" --pgdata="$data" --check >"$folder/checksums" 2>&1 || {
  tail -n 20 "$folder/checksums" >&2
  fail 'pages of the restored archive have wrong checksums.'
}
backup_age_s=$(($(now) - $(backrest info --output=json |
  grep -o '"stop":[0-9]*}' | tail -n 1 | tr -dc 0-9)))
[ "$backup_age_s" -le "$max_age_s" ] ||
  fail "the newest backup is $((backup_age_s / 3600)) hours old. See: systemctl status talkshelf-backup"

succeeded=1
printf '%s talks, last change at %s (%s s ago). ' "$talks" "$last" "$age_s"
printf '%s MB restored in %s s, log replayed in %s s, checked in %s s.\n' "$((size / 1000000))" \
  "$((restored - started))" "$((replayed - restored))" "$(($(now) - replayed))"
