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
        add("pcast_application_streams", .gauge, "Streams being published.", each { present[$0]?.streams ?? 0 })
        add("pcast_application_viewers", .gauge, "Viewers of all streams.", each { present[$0]?.viewers ?? 0 })
        let counts = { (name: ApplicationID) in figures.applications[name] ?? .init() }
        add("pcast_streams_started_total", .counter, "Publishers that were let in.", each { counts($0).started })
        add("pcast_views_total", .counter, "Viewers that were let in.", each { counts($0).views })
        add(
            "pcast_streams_ended_total", .counter, "Streams that ended, by their reason.",
            names.flatMap { name in
                counts(name).ended.sorted { $0.key < $1.key }.map { reason, count in
                    ([("application", name.description), ("reason", reason)], "\(count)")
                }
            })
        add(
            "pcast_join_duration_seconds", "From a request to join until media can flow.",
            [(("role", "publisher"), figures.publisherJoins), (("role", "viewer"), figures.viewerJoins)])
        add(
            "pcast_notification_duration_seconds", "From a request to a callback address until its answer.",
            [(nil, figures.notifications)])
    }

    /// Adds the process metrics that Prometheus client libraries report.
    mutating func add(_ process: ProcessMetrics) {
        add(
            "process_cpu_seconds_total", .counter, "Time of processors, of the program and the kernel.",
            process.processorTime)
        add("process_resident_memory_bytes", .gauge, "Memory in use.", process.memory)
        add("process_open_fds", .gauge, "Open descriptors.", process.descriptors)
        add("process_start_time_seconds", .gauge, "When it began, since 1970.", process.start)
    }
}
