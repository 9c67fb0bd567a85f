#!/bin/sh
# Usage: sh render.sh HOSTS_FILE FOLDER
#
# Renders the configuration of a cluster: for each host in HOSTS_FILE a folder with its files and an
# INSTALL.md. docs/cluster.md explains the steps. Certificates and secrets are created once and kept
# in FOLDER, which only its owner can read. Rendering again keeps them, and renews certificates that
# expire within 90 days. Needs a POSIX shell and openssl.
set -eu
umask 077

here=$(cd "$(dirname "$0")" && pwd)
templates=$here/templates
varnish_vcl=$here/../edge/varnish.vcl

refuse() {
  printf '%s\n' "$1" >&2
  exit 2
}

[ $# -eq 2 ] || refuse 'Usage: sh render.sh HOSTS_FILE FOLDER'
hosts_file=$1
out=$2
[ -r "$hosts_file" ] || refuse "Cannot read $hosts_file: copy hosts.conf and change it."
command -v openssl >/dev/null || refuse 'openssl is missing: apt-get install openssl'

# --- Read and check the hosts file

set -a # The templates contain variables, which awk finds in its environment.
public_url= shared_address= interface= postgresql= patroni= shared_buffers=128MB varnish_memory=256m
hosts= # name|address|roles, one host per line

is_address() {
  printf '%s\n' "$1" | awk -F. '
    NF != 4 { exit 1 }
    { for (i = 1; i <= 4; i++) if ($i !~ /^(0|[1-9][0-9]?[0-9]?)$/ || $i > 255) exit 1 }'
}

matches() {
  printf '%s\n' "$1" | grep -Eqx -- "$2"
}

read_host() { # NAME ADDRESS ROLES...
  [ $# -ge 3 ] || refuse "$where: write host NAME ADDRESS ROLE..."
  matches "$1" '[a-z][a-z0-9-]{0,31}' ||
    refuse "$where: the name $1 must be lower-case letters, digits and hyphens."
  # Files beside the folders of the hosts have these names.
  case $1 in
    ca | certificates | localhost | secrets | site)
      refuse "$where: the name $1 is reserved; choose another one."
      ;;
  esac
  is_address "$2" || refuse "$where: $2 is no IPv4 address."
  new_host=$1
  new_address=$2
  shift 2
  for role; do
    case $role in
      database | service | edge | backup) ;;
      *) refuse "$where: $role is no role: use database, service, edge or backup." ;;
    esac
  done
  case "$hosts" in
    *"
$new_host|"*) refuse "$where: there is a host $new_host already." ;;
    *"|$new_address|"*) refuse "$where: another host has the address $new_address already." ;;
  esac
  case " $* " in
    *' backup '*) [ $# -eq 1 ] || refuse "$where: give backup a host of its own, or leave it out." ;;
  esac
  hosts="$hosts
$new_host|$new_address| $* "
}

line_number=0
while IFS= read -r line || [ -n "$line" ]; do
  line_number=$((line_number + 1))
  where="$hosts_file:$line_number"
  line=$(printf '%s\n' "$line" | sed 's/[[:space:]]*#.*//; s/^[[:space:]]*//; s/[[:space:]]*$//')
  case $line in
    '') ;;
    'host '*)
      set -f
      # shellcheck disable=SC2086 # words
      read_host ${line#host }
      set +f
      ;;
    *=*)
      setting=$(printf '%s\n' "${line%%=*}" | sed 's/[[:space:]]*$//')
      value=$(printf '%s\n' "${line#*=}" | sed 's/^[[:space:]]*//')
      case $setting in
        public_url) public_url=$value ;;
        shared_address) shared_address=$value ;;
        interface) interface=$value ;;
        postgresql) postgresql=$value ;;
        patroni) patroni=$value ;;
        shared_buffers) shared_buffers=$value ;;
        varnish_memory) varnish_memory=$value ;;
        *) refuse "$where: there is no setting $setting; see hosts.conf for those that exist." ;;
      esac
      ;;
    *) refuse "$where: write NAME = VALUE, or host NAME ADDRESS ROLE..." ;;
  esac
done <"$hosts_file"

has() { # ROLES ROLE
  case $1 in *" $2 "*) true ;; *) false ;; esac
}

# Calls a function with the name, address and roles of each host that has a role.
each() { # ROLE FUNCTION
  printf '%s\n' "$hosts" | while IFS='|' read -r host_name host_address host_roles; do
    if [ -n "$host_name" ] && has "$host_roles" "$1"; then
      "$2" "$host_name" "$host_address"
    fi
  done
}

count() { # ROLE
  each "$1" echo | wc -l
}

matches "$public_url" 'https?://[a-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._~/-]*)?' ||
  refuse "$hosts_file: set public_url to the address of the archive, such as https://talks.example.org"
public_url=${public_url%/}
is_address "${shared_address%/*}" && matches "$shared_address" '.*/([1-9]|[12][0-9]|3[0-2])' ||
  refuse "$hosts_file: set shared_address to an address of the edge and its network, such as 10.0.0.10/24"
case "$hosts" in
  *"|${shared_address%/*}|"*)
    refuse "$hosts_file: shared_address must be an address that no host has." ;;
esac
matches "$interface" '[A-Za-z0-9._-]{1,15}' ||
  refuse "$hosts_file: set interface to the network interface of the hosts, such as eth0"
matches "$postgresql" '1[5-9]' ||
  refuse "$hosts_file: set postgresql to the major version, 15 or newer."
matches "$patroni" '[1-9][0-9]*\.[0-9]+\.[0-9]+' ||
  refuse "$hosts_file: set patroni to what \`patroni --version\` prints, such as 3.0.2"
[ "${patroni%%.*}" -ge 3 ] || refuse "$hosts_file: Patroni must be 3.0.0 or newer."
matches "$shared_buffers" '[1-9][0-9]*(MB|GB)' ||
  refuse "$hosts_file: set shared_buffers to a size such as 512MB or 4GB."
matches "$varnish_memory" '[1-9][0-9]*[mMgG]' ||
  refuse "$hosts_file: set varnish_memory to a size such as 256m or 4G."
case $(count database) in
  3 | 5) ;;
  *) refuse "$hosts_file: give the role database to three hosts, or to five." ;;
esac
[ "$(count service)" -ge 2 ] || refuse "$hosts_file: give the role service to two hosts or more."
[ "$(count edge)" -ge 2 ] || refuse "$hosts_file: give the role edge to two hosts or more."
[ "$(count backup)" -le 1 ] || refuse "$hosts_file: give the role backup to one host only."

# --- Secrets and certificates, created once

mkdir -p "$out/certificates"
chmod 700 "$out"
touch "$out/secrets"

secret() { # NAME
  grep -q "^$1=" "$out/secrets" || printf '%s=%s\n' "$1" "$(openssl rand -hex 24)" >>"$out/secrets"
  sed -n "s/^$1=//p" "$out/secrets"
}

password_superuser=$(secret superuser)
password_replication=$(secret replication)
password_rewind=$(secret rewind)
password_talkshelf=$(secret talkshelf)
password_backup=$(secret backup)
edge_token=$(secret edge_token)
webhook_key=$(secret webhook_key)

ca=$out/certificates/ca
[ -e "$ca.crt" ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 7300 \
  -subj '/CN=Talkshelf cluster' -addext 'basicConstraints=critical,CA:TRUE' \
  -addext 'keyUsage=critical,keyCertSign,cRLSign' \
  -keyout "$ca.key" -out "$ca.crt" 2>/dev/null

# Creates a key, and a certificate for these names; again if the names change or it expires soon.
certificate() { # FILE COMMON_NAME NAMES
  certificate=$out/certificates/$1
  if [ -e "$certificate.crt" ] && [ "$(cat "$certificate.names")" = "$3" ] &&
    openssl x509 -in "$certificate.crt" -noout -checkend 7776000 >/dev/null; then
    return
  fi
  printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\nbasicConstraints=CA:FALSE\n' \
    "$3" >"$certificate.extensions"
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$2" \
    -keyout "$certificate.key" -out "$certificate.request" 2>/dev/null
  openssl x509 -req -in "$certificate.request" -CA "$ca.crt" -CAkey "$ca.key" \
    -set_serial "0x$(openssl rand -hex 16)" -days 1825 -extfile "$certificate.extensions" \
    -out "$certificate.crt" 2>/dev/null
  rm "$certificate.extensions" "$certificate.request"
  printf '%s\n' "$3" >"$certificate.names"
}

# Creates a certificate for the first try, about which browsers warn. It signs itself, because the
# hosts trust what their authority has signed.
create_placeholder() {
  placeholder=$out/certificates/placeholder.pem
  [ ! -e "$placeholder" ] || return 0
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1825 \
    -subj "/CN=$site_name" -addext "subjectAltName=DNS:$site_name" \
    -keyout "$placeholder.key" -out "$placeholder" 2>/dev/null
  cat "$placeholder.key" >>"$placeholder"
  rm "$placeholder.key"
}

# --- What the templates contain


site=${public_url#*://}
case $site in */*) path=/${site#*/} ;; *) path= ;; esac
site=${site%%/*}
site_name=${site%%:*}

comma() { # joins lines
  paste -s -d, -
}

member() { printf '%s=https://%s:2380\n' "$1" "$2"; }
etcd_members=$(each database member | comma)
etcd_host() { printf '    - %s:2379\n' "$2"; }
patroni_etcd_hosts=$(each database etcd_host)

# Patroni 3.0.3 and newer: the v3 API is safe, and the shortest time to live is 20 s.
if [ "$(printf '%s\n' "$patroni" 3.0.3 | sort -t. -k1,1n -k2,2n -k3,3n | head -n 1)" = 3.0.3 ]; then
  patroni_etcd=etcd3 etcd_v2=false patroni_ttl=20
else
  patroni_etcd=etcd etcd_v2=true patroni_ttl=8
fi

replication_line() {
  printf '    - hostssl replication replicator %s/32 scram-sha-256 clientcert=verify-ca\n' "$2"
  printf '    - hostssl postgres rewind %s/32 scram-sha-256 clientcert=verify-ca\n' "$2"
}
talkshelf_line() { printf '    - hostssl talkshelf talkshelf %s/32 scram-sha-256\n' "$2"; }
pg_hba=$(
  each database replication_line
  { each database talkshelf_line && each service talkshelf_line; } | sort -u
)

backup_host() { printf '%s %s\n' "$1" "$2"; }
backup=$(each backup backup_host)
backup_name=${backup% *}
backup_address=${backup#* }
patroni_archive= pgbackrest_conf= database_units='etcd patroni'
if [ -n "$backup" ]; then
  pgbackrest_conf=/etc/pgbackrest.conf
  database_units='etcd patroni pgbackrest'
  patroni_archive='        archive_mode: "on"
        archive_timeout: 60s
        archive_command: pgbackrest --stanza=talkshelf archive-push "%p"'
fi
client() { printf 'tls-server-auth=%s=talkshelf\n' "$1"; }
pgbackrest_clients=$(each database client)
pgbackrest_database() {
  number=$(printf '%s\n' "$hosts" | grep '| .*database' | grep -n "^$1|" | cut -d: -f1)
  printf 'pg%s-host=%s\npg%s-host-type=tls\n' "$number" "$2" "$number"
  printf 'pg%s-host-ca-file=/etc/talkshelf/ca.crt\n' "$number"
  printf 'pg%s-host-cert-file=/etc/pgbackrest/host.crt\n' "$number"
  printf 'pg%s-host-key-file=/etc/pgbackrest/host.key\n' "$number"
  printf 'pg%s-path=/var/lib/postgresql/%s/talkshelf\n' "$number" "$postgresql"
  printf 'pg%s-socket-path=/var/run/postgresql\n' "$number"
}
pgbackrest_databases=$(each database pgbackrest_database)

leader_server() { printf '  server %s %s:5432 verifyhost %s\n' "$1" "$2" "$1"; }
haproxy_leader_servers=$(each database leader_server)
service_server() { printf '  server %s %s:8000\n' "$1" "$2"; }
haproxy_services=$(each service service_server)
if [ "${public_url%%:*}" = https ]; then
  site_pem_note="Put the certificate of $site_name and its key, in this order and in one file, into
/etc/haproxy/site.pem. For a first try, use one that browsers warn about:

\`\`\`sh
cp --no-clobber --preserve=mode /etc/haproxy/placeholder.pem /etc/haproxy/site.pem
\`\`\`"
  haproxy_site_binds='  bind :80
  bind :443 ssl crt /etc/haproxy/site.pem alpn h2,http/1.1
  http-request redirect scheme https code 308 unless { ssl_fc }
  http-response set-header Strict-Transport-Security max-age=31536000'
else
  site_pem_note="Readers arrive at port 80."
  haproxy_site_binds='  bind :80'
fi
edge_url() { printf 'http://%s:6081\n' "$2"; }
edge_urls=$(each edge edge_url | comma)
purger() { printf '  "%s";\\\n' "$2"; }

# Prints a template with the variables of this script in the places of @name@.
fill() { # TEMPLATE
  awk -v template="$1" '{
    line = ""
    while (match($0, /@[a-z_0-9]+@/)) {
      name = substr($0, RSTART + 1, RLENGTH - 2)
      if (!(name in ENVIRON)) {
        print template ": there is no variable " name >"/dev/stderr"
        exit 1
      }
      line = line substr($0, 1, RSTART - 1) ENVIRON[name]
      $0 = substr($0, RSTART + RLENGTH)
    }
    print line $0
  }' "$templates/$1"
}

# --- The files of a host

# Writes standard input to a file of the host, readable by all or only by its owner.
put() { # MODE PATH
  mkdir -p "$folder/$(dirname "$2")"
  cat >"$folder/$2"
  chmod "$1" "$folder/$2"
}

# Renders a template into a file of the host. A pipe would hide that it fails.
put_template() { # TEMPLATE MODE PATH
  rendered=$(fill "$1")
  printf '%s\n' "$rendered" | put "$2" "$3"
}

put_certificate() { # FOLDER
  put 644 "$1/host.crt" <"$out/certificates/$name.crt"
  put 600 "$1/host.key" <"$out/certificates/$name.key"
}

render_database() {
  put_template etcd.env 644 etc/default/etcd
  put_template etcd.service.conf 644 etc/systemd/system/etcd.service.d/talkshelf.conf
  put_certificate etc/etcd
  put_template patroni.yml.in 600 etc/patroni/config.yml
  put_template create-database.sh 700 etc/patroni/create-database.sh
  put_template patroni.service.conf 644 etc/systemd/system/patroni.service.d/talkshelf.conf
  put_certificate etc/patroni
  if [ -n "$backup" ]; then put_template pgbackrest-database.conf 640 etc/pgbackrest.conf; fi
}

render_service() {
  put_template talkshelf.env 600 etc/talkshelf/talkshelf.env
  if [ -e "$(dirname "$hosts_file")/site.env" ]; then
    put 600 etc/talkshelf/talkshelf.env <<END
$(fill talkshelf.env)
$(cat "$(dirname "$hosts_file")/site.env")
END
  fi
  put_template talkshelf.service.conf 644 etc/systemd/system/talkshelf.service.d/cluster.conf
  put 600 etc/talkshelf/database-url <<END
postgres://talkshelf:$password_talkshelf@127.0.0.1:5000/talkshelf?sslmode=verify-full&sslrootcert=/etc/talkshelf/ca.crt
END
  echo "$edge_token" | put 600 etc/talkshelf/edge-token
  echo "$webhook_key" | put 600 etc/talkshelf/webhook-key
}

render_edge() {
  sed -e 's/\.port = "8000"/.port = "8001"/' \
    -e "s|url = \"/readyz\"|url = \"$path/readyz\"|" \
    -e "s|^  \"127.0.0.1\";|$(each service purger)
&|" "$varnish_vcl" | put 644 etc/varnish/talkshelf.vcl
  echo "EDGE_TOKEN=$edge_token" | put 600 etc/varnish/talkshelf.env
  put_template varnish.service.conf 644 etc/systemd/system/varnish.service.d/talkshelf.conf
  keepalived_priority=$((101 - $(each edge echo | grep -n "^$name " | cut -d: -f1)))
  other_edge() { [ "$1" = "$name" ] || printf '    %s\n' "$2"; }
  keepalived_peers=$(each edge other_edge)
  put_template keepalived.conf 644 etc/keepalived/keepalived.conf
  if [ "${public_url%%:*}" = https ]; then
    create_placeholder
    put 600 etc/haproxy/placeholder.pem <"$out/certificates/placeholder.pem"
  fi
  cache_server() {
    if [ "$1" = "$name" ]; then printf '  server %s 127.0.0.1:6081\n' "$1"
    else printf '  server %s %s:6081\n' "$1" "$2"; fi
  }
  haproxy_cache_servers=$(each edge cache_server)
}

render_backup() {
  put_template pgbackrest-backup.conf 640 etc/pgbackrest.conf
  put_certificate etc/pgbackrest
  put_template talkshelf-backup.service 644 etc/systemd/system/talkshelf-backup.service
  put_template talkshelf-backup.timer 644 etc/systemd/system/talkshelf-backup.timer
  put_template restore-drill.sh 755 etc/talkshelf/restore-drill.sh
  put_template restore-checks.sql 644 etc/talkshelf/restore-checks.sql
  put_template pgbackrest-drill.conf 640 etc/pgbackrest-drill.conf
  put_template talkshelf-restore-drill.service 644 etc/systemd/system/talkshelf-restore-drill.service
  put_template talkshelf-restore-drill.timer 644 etc/systemd/system/talkshelf-restore-drill.timer
}

# Prints the commands that install this host.
install_md() {
  packages='openssl curl'
  if has "$roles" database; then
    packages="$packages postgresql-$postgresql patroni python3-etcd python3-idna etcd-server etcd-client"
    [ -z "$backup" ] || packages="$packages pgbackrest"
  fi
  if has "$roles" service; then packages="$packages haproxy npm ca-certificates fonts-noto-core"; fi
  if has "$roles" edge; then packages="$packages haproxy varnish varnish-modules keepalived"; fi
  if has "$roles" backup; then packages="$packages pgbackrest postgresql-$postgresql"; fi
  packages=$(printf '%s\n' $packages | sort -u | tr '\n' ' ' | sed 's/ $//')
  fill INSTALL.md
  for role in database backup service edge; do
    if has "$roles" $role; then fill "INSTALL-$role.md"; fi
  done
  fill INSTALL-end.md
}

render_host() { # NAME ADDRESS ROLES
  name=$1 address=$2 roles=$3
  folder=$out/$name
  rm -rf "$folder"
  # pgBackRest compares addresses with names only, so they are there in both forms.
  certificate "$name" "$name" "DNS:$name,DNS:localhost,DNS:$address,IP:$address,IP:127.0.0.1"
  put 644 etc/talkshelf/ca.crt <"$ca.crt"
  haproxy_sections=
  if has "$roles" database; then render_database; fi
  if has "$roles" service; then
    render_service
    haproxy_sections=$(fill haproxy-service.cfg)
  fi
  if has "$roles" edge; then
    render_edge
    haproxy_sections="$haproxy_sections
$(fill haproxy-edge.cfg)"
  fi
  if [ -n "$haproxy_sections" ]; then put_template haproxy.cfg 644 etc/haproxy/haproxy.cfg; fi
  if has "$roles" backup; then render_backup; fi
  find "$folder" -type d -exec chmod 755 {} +
  install_md | put 644 INSTALL.md
  chmod 700 "$folder"
}

printf '%s\n' "$hosts" | while IFS='|' read -r name address roles; do
  if [ -n "$name" ]; then render_host "$name" "$address" "$roles"; fi
done
printf '%s\n' "$hosts" | awk -F'|' -v out="$out" 'NF { printf "%s/%s/INSTALL.md\n", out, $1 }'
