-- dbt fails if a gate stops the day: exit codes 3 and 5 of the command, in the same words.
select gate, metric, model, slice_value, verdict, reason
from {{ source("nightly", "gates") }}
where day = '{{ var("day") }}'
  and not accepted
  and (verdict = 'fail' or (verdict = 'undecided' and policy = 'fail'))
