import PCastCore

extension MetricsText {
    /// Adds the metrics of each application. Configured applications have them from the start.
    mutating func add(
        _ figures: PlatformStatistics.Figures, applications: [ApplicationID],
        present: [ApplicationID: (streams: Int, viewers: Int)]
    ) {
        let names = Set(applications).union(present.keys).union(figures.applications.keys)
            .sorted { $0.description < $1.description }
        let each = { (value: (ApplicationID) -> Int) in
            names.map { name -> Sample in ([("application", name.description)], "\(value(name))") }
        }
        add("pcast_application_streams", .gauge, "Number of published streams.", each { present[$0]?.streams ?? 0 })
        add(
            "pcast_application_viewers", .gauge, "Number of viewers of all streams.", each { present[$0]?.viewers ?? 0 }
        )
        let counts = { (name: ApplicationID) in figures.applications[name] ?? .init() }
        add("pcast_streams_started_total", .counter, "Publishers that were admitted.", each { counts($0).started })
        add("pcast_views_total", .counter, "Viewers that were admitted.", each { counts($0).views })
        add(
            "pcast_streams_ended_total", .counter, "Streams that ended, by reason.",
            names.flatMap { name in
                counts(name).ended.sorted { $0.key < $1.key }.map { reason, count in
                    ([("application", name.description), ("reason", reason)], "\(count)")
                }
            })
        add(
            "pcast_join_duration_seconds",
            "Time from a join request until the media connection is established, in seconds.",
            [(("role", "publisher"), figures.publisherJoins), (("role", "viewer"), figures.viewerJoins)])
        add(
            "pcast_notification_duration_seconds", "Time from a webhook request until its response, in seconds.",
            [(nil, figures.notifications)])
    }

    /// Adds the process metrics that Prometheus client libraries report.
    mutating func add(_ process: ProcessMetrics) {
        add(
            "process_cpu_seconds_total", .counter, "Total user and system CPU time in seconds.",
            process.processorTime)
        add("process_resident_memory_bytes", .gauge, "Resident memory size in bytes.", process.memory)
        add("process_open_fds", .gauge, "Number of open file descriptors.", process.descriptors)
        add(
            "process_start_time_seconds", .gauge, "Start time of the process since the Unix epoch in seconds.",
            process.start)
    }
}
