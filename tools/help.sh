# For `source`: with --help a script prints the comment at its top, and ends. Without this, a demo would begin.
case ${1-} in
  -h | --help)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[1]}"
    exit
    ;;
esac
