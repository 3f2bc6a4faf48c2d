# shellcheck shell=bash
# Functions of scripts/quickstart and scripts/test: system packages, a Python, and .venv in the repository root.
# Sourced, never run. Limited to bash 3.2, the version of macOS: no mapfile, no expansion of empty arrays.

ROOT=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
PROGRAM=${0##*/}
VENV=$ROOT/.venv
VENV_PYTHON=$VENV/bin/python

# Remove the environment of other projects, and settings of pip that would install outside .venv. The user's
# package index (PIP_INDEX_URL and similar settings) stays.
unset PYTHONPATH PYTHONHOME PYTHONOPTIMIZE PYTHONWARNINGS VIRTUAL_ENV
unset PIP_TARGET PIP_PREFIX PIP_ROOT PIP_PYTHON PIP_DRY_RUN PIP_NO_DEPS PIP_NO_BUILD_ISOLATION PIP_REQUIRE_HASHES
export PIP_USER=0 # overrides pip.conf: a --user install cannot go into a virtual environment

say() { printf '%s: %s\n' "$PROGRAM" "$*" >&2; }

die() {
  say "$*"
  exit 1
}

# ---- system packages ----

# Print the names that package manager $1 has for the Debian packages $2...
package_names() {
  local manager=$1 need names=""
  shift
  for need in "$@"; do
    case $manager:$need in
      dnf:libvulkan1) need=vulkan-loader ;;
      pacman:libvulkan1) need=vulkan-icd-loader ;;
      brew:libvulkan1) need=vulkan-loader ;;
      dnf:glslang-tools | pacman:glslang-tools | brew:glslang-tools) need=glslang ;;
      dnf:mesa-vulkan-drivers) ;;
      pacman:mesa-vulkan-drivers) need=vulkan-swrast ;;
      brew:mesa-vulkan-drivers) need=molten-vk ;;
      dnf:vulkan-validationlayers | pacman:vulkan-validationlayers) need=vulkan-validation-layers ;;
      dnf:python3-venv) need=python3 ;;
      pacman:python3-venv) need=python ;;
      brew:python3-venv) need=python@3.13 ;;
      brew:nodejs | brew:npm) need=node ;;
      apt-get:python3-venv) need="python3 python3-venv" ;;
    esac
    names+=" $need"
  done
  printf '%s' "${names# }"
}

# Check that the dynamic linker knows a library; 32-bit copies on a 64-bit system do not count.
has_library() {
  local name=$1 dir folders=${LD_LIBRARY_PATH:-}:${DYLD_LIBRARY_PATH:-}:${VULKAN_SDK:+$VULKAN_SDK/lib}
  case $(uname -s) in Darwin) name=${name%.so.*}.dylib ;; esac
  if PATH=$PATH:/usr/sbin:/sbin ldconfig -p 2>/dev/null | grep -F "$name " | grep -v i386 >/dev/null; then
    return 0
  fi
  # No ldconfig (musl, macOS), or a library that only the environment names.
  while IFS= read -r -d : dir; do
    [[ -n $dir && -e $dir/$name ]] && return 0
  done <<<"$folders:/usr/local/lib:/opt/homebrew/lib:/usr/lib:"
  return 1
}

# Print the files that match vulkan/$1 in the folders that the Vulkan loader searches, one a line; fail without any.
vulkan_manifests() {
  local dir found=1 folders=${XDG_CONFIG_HOME:-${HOME:-}/.config}:${XDG_CONFIG_DIRS:-/etc/xdg}:/etc
  folders+=:${XDG_DATA_HOME:-${HOME:-}/.local/share}:${XDG_DATA_DIRS:-/usr/local/share:/usr/share}
  while IFS= read -r -d : dir; do
    [[ -n $dir ]] && compgen -G "$dir/vulkan/$1" && found=0
  done <<<"$folders:/opt/homebrew/share:"
  return "$found"
}

# Check that the Vulkan loader finds a driver. The two variables replace its folders.
has_vulkan_driver() {
  local files=${VK_DRIVER_FILES:-${VK_ICD_FILENAMES:-}} entry
  [[ -z $files ]] && { vulkan_manifests 'icd.d/*.json' >/dev/null; return; }
  while IFS= read -r -d : entry; do
    [[ -f $entry ]] || { [[ -d $entry ]] && compgen -G "$entry/*.json" >/dev/null; } && return 0
  done <<<"$files:"
  die "VK_DRIVER_FILES or VK_ICD_FILENAMES is '$files', where there is no driver file; correct it or unset it"
}

# Print which of the packages $@ (Debian's names) are missing, with no equivalent on this system, one a line.
missing_packages() {
  local need
  for need in "$@"; do
    case $need in
      libvulkan1) has_library libvulkan.so.1 ;;
      glslang-tools) command -v glslangValidator || command -v glslang ;;
      spirv-tools) command -v spirv-val ;;
      mesa-vulkan-drivers) vulkan_manifests 'icd.d/lvp_icd*.json' || vulkan_manifests 'icd.d/MoltenVK_icd.json' ;;
      vulkan-validationlayers) vulkan_manifests 'explicit_layer.d/VkLayer_khronos_validation.json' ;;
      python3-venv) find_python ;;
      nodejs) command -v node ;;
      npm) command -v npm ;;
      chromium) command -v chromium ;;
      *) die "no check is known for the package $need" ;;
    esac >/dev/null || printf '%s\n' "$need"
  done
}

is_debian_like() {
  command -v apt-get >/dev/null && command -v dpkg >/dev/null
}

# Check that this is Debian itself, whose archive has more packages than those of its derivatives.
is_debian() {
  is_debian_like && grep -xE 'ID="?debian"?' /etc/os-release >/dev/null 2>&1
}

# Check that as_root would work; ask for sudo's password once, if there is a terminal.
can_be_root() {
  [[ $(id -u) -eq 0 ]] && return 0
  command -v sudo >/dev/null || return 1
  sudo -n true 2>/dev/null && return 0
  [[ -t 0 && -t 2 ]] && sudo -v
}

as_root() {
  if [[ $(id -u) -eq 0 ]]; then
    "$@"
  else
    sudo -- "$@"
  fi
}

# Run apt-get as root, and show its output only if it fails. Wait for another running apt, which is normal in the
# first minutes of a new virtual machine; apt's own timeout covers dpkg's lock but not that of the lists.
apt_get() {
  local log waited=0 name environment=(DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8)
  for name in http_proxy https_proxy no_proxy; do # sudo drops them
    [[ -n ${!name:-} ]] && environment+=("$name=${!name}")
  done
  log=$(mktemp)
  until as_root env "${environment[@]}" apt-get -q -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1 </dev/null; do
    if ((waited < 300)) && grep -F 'Could not get lock' "$log" >/dev/null; then
      ((waited == 0)) && say "waiting for another package manager to finish"
      sleep 5
      waited=$((waited + 5))
      continue
    fi
    cat "$log" >&2
    rm -f "$log"
    return 1
  done
  rm -f "$log"
}

# Check that apt can install a package; a virtual package has a name but no candidate.
apt_offers() {
  LC_ALL=C apt-cache policy "$1" 2>/dev/null | grep -E '^ +Candidate: +[^( ]' >/dev/null
}

# Print the packages for a Python of 3.11 or newer with venv: the missing part of an installed Python, or a whole one.
apt_python_packages() {
  local python version
  while IFS= read -r python; do
    version=$(python_version "$python")
    # A package helps only the system's own Python; any other Python includes its venv module.
    if [[ $python == /usr/bin/* ]] && apt_offers "python$version-venv"; then
      printf 'python%s-venv' "$version"
      return
    fi
  done < <(pythons)
  [[ -z ${PYTHON:-} ]] || return 1
  version=$(LC_ALL=C apt-cache policy python3 2>/dev/null | sed -n 's/^ *Candidate: //p')
  if [[ -n $version ]] && dpkg --compare-versions "$version" ge 3.11; then
    printf 'python3 python3-venv'
    return
  fi
  for version in 3.14 3.13 3.12 3.11; do
    if apt_offers "python$version-venv"; then
      printf 'python%s python%s-venv' "$version" "$version"
      return
    fi
  done
  return 1
}

# Install the missing ones of the packages $@ (Debian's names), or print how to install them and exit.
ensure_packages() {
  local missing names="" need reason="" manager
  missing=$(missing_packages "$@") || exit 1
  [[ -z $missing ]] && return
  missing=${missing//$'\n'/ }
  if ! is_debian_like; then
    reason="only apt-get is known here, which this system does not have"
  elif ! can_be_root; then
    reason="that takes root, or sudo without a password"
  fi
  if [[ -n $reason ]]; then
    say "cannot install what is missing, as $reason: $missing"
    for manager in "apt-get install" "dnf install" "pacman -S" "brew install"; do
      is_debian_like && [[ $manager != apt-get* ]] && continue
      # shellcheck disable=SC2086 # a list of package names, which have no spaces
      printf '    %s %s\n' "$manager" "$(package_names "${manager%% *}" $missing)" >&2
    done
    [[ " $missing " != *" python3-venv "* ]] || printf '    (Python must be 3.11 or newer, with venv)\n' >&2
    die "install them as root by a line like these, and run $PROGRAM again"
  fi
  say "installing by apt: $missing"
  # Continue if a source fails: it is often a third party's, and the installation reports missing packages.
  apt_get update || say "apt-get update failed; going on with what apt knows"
  for need in $missing; do
    if [[ $need == python3-venv ]]; then
      need=$(apt_python_packages) ||
        die "apt has no Python 3.11 or newer with venv that would do; install one and run PYTHON=/path/to/python $0"
    fi
    names+=" $need"
  done
  # shellcheck disable=SC2086 # as above
  apt_get install -y --no-install-recommends $names ||
    die "apt-get could not install$names; on Ubuntu the component 'universe' must be enabled"
  missing=$(missing_packages "$@") || exit 1
  [[ -z $missing ]] || die "still missing after the installation: ${missing//$'\n'/ }"
}

# ---- Python ----

# Print every Python of 3.11 or newer that runs, one a line; PYTHON restricts the search to one.
pythons() {
  local name names=(python3 python3.14 python3.13 python3.12 python3.11)
  [[ -z ${PYTHON:-} ]] || names=("$PYTHON")
  for name in "${names[@]}"; do
    # The interpreter behind an active virtual environment: that environment may be .venv itself.
    "$name" -I -c 'import sys
if sys.version_info >= (3, 11):
    print(getattr(sys, "_base_executable", None) or sys.executable)' 2>/dev/null || true
  done
}

python_version() { "$1" -I -c 'import sys; print("%d.%d" % sys.version_info[:2])'; }

# Print the first Python of `pythons` that can make virtual environments; Debian's needs another package for it.
find_python() {
  local python
  while IFS= read -r python; do
    if "$python" -I -c 'import ensurepip, venv' 2>/dev/null; then
      printf '%s\n' "$python"
      return
    fi
  done < <(pythons)
  return 1
}

# ---- .venv ----

# Check that .venv runs, comes from the Python $1, and has pip.
venv_is_sound() {
  local identity='import sys; print(sys.version_info[:2], sys.base_prefix)'
  # A killed run leaves incomplete packages, which a second pip would take for installed.
  [[ -x $VENV_PYTHON && ! -e $VENV/.installing ]] || return 1
  [[ $("$VENV_PYTHON" -I -c "$identity" 2>/dev/null) == "$("$1" -I -c "$identity")" ]] || return 1
  "$VENV_PYTHON" -I -m pip --version >/dev/null 2>&1 ||
    { "$VENV_PYTHON" -I -m ensurepip >/dev/null 2>&1 && "$VENV_PYTHON" -I -m pip --version >/dev/null 2>&1; }
}

# Print a hash of the inputs and results of an editable install, to detect a change of either: the package's
# description and build hook, the packages in .venv, and the checkout's path, which .venv contains.
fingerprint() {
  "$VENV_PYTHON" -I - "$ROOT" <<'PYTHON'
import hashlib
import sys
from importlib.metadata import distributions
from pathlib import Path

root = Path(sys.argv[1])
digest = hashlib.sha256(repr(root).encode())
for name in ("pyproject.toml", "scripts/hatch_build.py"):
    digest.update(hashlib.sha256((root / name).read_bytes()).digest())
for name in sorted(f"{package.name} {package.version}" for package in distributions()):
    digest.update(f"{name}\n".encode())
print(digest.hexdigest())
PYTHON
}

# Install vkssp, with the extras $1 ("" or "dev"), into .venv unless .venv is up to date.
ensure_venv() {
  local extras=$1 python stamp=$VENV/.installed now said
  python=$(find_python) || die "found no Python 3.11 or newer with venv; name one with PYTHON="
  if ! venv_is_sound "$python"; then
    say "making .venv with Python $(python_version "$python") ($python)"
    rm -rf "$VENV"
    mkdir "$VENV"
    touch "$VENV/.installing"
    "$python" -I -m venv "$VENV" || die "$python could not make $VENV; name another with PYTHON="
  fi
  # An install with extras also serves a run without extras, but not the reverse.
  now=$(fingerprint) || now=unknown
  if [[ -f $stamp ]] && grep -xF -e "$now dev" -e "$now $extras" "$stamp" >/dev/null; then
    return
  fi
  say "installing vkssp and the libraries it needs into .venv; the first time this takes a minute or two"
  rm -f "$stamp"
  touch "$VENV/.installing"
  # Even with -q pip prints warnings, for example about an index without a package; show them only if pip fails.
  if ! said=$("$VENV_PYTHON" -m pip install --disable-pip-version-check -q -e "$ROOT${extras:+[$extras]}" 2>&1); then
    rm -f "$VENV/.installing"
    printf '%s\n' "$said" >&2
    die "pip could not install vkssp; what it said stands above"
  fi
  rm -f "$VENV/.installing"
  printf '%s %s\n' "$(fingerprint)" "$extras" >"$stamp"
}

# Set up everything: packages $2... (Debian's names), then .venv with the extras $1.
set_up() {
  local extras=$1 path
  shift
  if [[ -n ${PYTHON:-} && -z $(pythons) ]]; then
    die "PYTHON is '$PYTHON', which is no Python 3.11 or newer that runs; correct it or unset it"
  fi
  for path in "$ROOT" "$ROOT/.cache" "$VENV"; do
    [[ ! -e $path || -w $path ]] ||
      die "$path is not writable; run $PROGRAM as its owner, or remove what another user left"
  done
  ensure_packages python3-venv glslang-tools "$@"
  mkdir -p "$ROOT/.cache"
  if command -v flock >/dev/null; then
    # Each of two runs at once would take the other's unfinished .venv for a broken one.
    (flock 9 && ensure_venv "$extras") 9>"$ROOT/.cache/setup.lock"
  else
    ensure_venv "$extras"
  fi
  # A pull may bring new shaders without a need for a new install.
  "$VENV_PYTHON" -I "$ROOT/scripts/build_shaders.py" >/dev/null
}
