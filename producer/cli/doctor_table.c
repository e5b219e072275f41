/* doctor_table.c - the table of what quern doctor checks, in the order in which
 * it prints. quern help doctor lists the same. */
#include <string.h>

#include "producer/cli/doctor.h"

const struct doctor_check doctor_checks[] = {
    { "redis", PART_SERVER, check_redis, "does Redis answer, and how fast" },
    { "server", PART_SERVER, check_server, "may this login look at INFO" },
    { "role", PART_SERVER, NULL, "is this the master, and who follows it" },
    { "version", PART_SERVER, NULL, "does it have functions" },
    { "storage", PART_SERVER, NULL, "does a restart lose jobs" },
    { "replay", PART_SERVER, NULL,
      "does it read all that is in its append-only file" },
    { "eviction", PART_SERVER, NULL,
      "may it drop jobs when memory runs short" },
    { "durability", PART_SERVER, NULL, "can it give what --durability asks" },
    { "memory", PART_SERVER, NULL, "is maxmemory near" },
    { "clients", PART_SERVER, NULL, "is maxclients near" },
    { "writes", PART_SERVER, check_writes, "does it take writes" },
    { "clock", PART_SERVER, check_clock, "is this host's clock Redis's" },
    { "library", PART_SERVER, check_library,
      "is the function library there, and as new as this program" },
    { "prefixes", PART_SERVER, check_prefixes,
      "are there keys of another prefix" },

    { "login", PART_FLEET, check_login, "who is asking, and may everybody" },
    { "channels", PART_FLEET, check_channels,
      "may this login use the channels of events" },
    { "partitions", PART_FLEET, check_partitions,
      "are the partitions spread over the masters of the cluster" },
    { "consumers", PART_FLEET, check_consumers,
      "does anybody take jobs of the queue" },
    { "queues", PART_FLEET, check_reports,
      "does every job that waits have a consumer that takes it" },
    { "budgets", PART_FLEET, NULL, "which jobs wait for a budget" },
    { "workers", PART_FLEET, NULL,
      "do some serve; are their versions, settings, models alike" },
    { "clocks", PART_FLEET, NULL, "are the clocks of their hosts Redis's" },
    { "grace", PART_FLEET, NULL, "are they killed before they have drained" },
    { "executors", PART_FLEET, NULL, "do workers reach their executors" },
    { "leases", PART_FLEET, NULL, "does anybody take back lost jobs" },
    { "dead", PART_FLEET, NULL, "do more jobs die than before" },
    { "endpoints", PART_FLEET, NULL, "do the endpoints of models answer" },
    { "webhooks", PART_FLEET, NULL, "is the end of jobs told" },

    { "executor", PART_EXECUTOR, check_executor,
      "does an executor answer on this host, or could it" },
    { "walls", PART_EXECUTOR, NULL, "which walls do its boxes lack" },
    { "model", PART_MODEL, check_model, "does anybody listen at the models" },
    { "settings", PART_FILES, check_settings,
      "does each program take its settings file" },
    { "secrets", PART_FILES, check_secrets,
      "may others read a secret, has it a second line" },
    { "certificates", PART_FILES, check_certificates,
      "does a certificate end within 14 days" },
    { "disk", PART_HOST, check_disk, "is a disk full, or nearly" },
    { "limits", PART_HOST, check_limits, "may the programs open enough files" },
    { "services", PART_HOST, check_services,
      "has a service of this host failed" },
    { "units", PART_HOST, check_unit,
      "does systemd give a consumer the time to drain" },
};
const size_t doctor_check_count =
    sizeof(doctor_checks) / sizeof(doctor_checks[0]);

void doctor_run(struct doctor *doctor, enum doctor_part part)
{
    for (size_t i = 0; i < doctor_check_count && !doctor->away; i++)
        if (doctor_checks[i].part == part && doctor_checks[i].run)
            doctor_checks[i].run(doctor);
}
