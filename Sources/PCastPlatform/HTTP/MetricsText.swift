import PCastCore
import PCastSFU

/// Metrics, and their text in Prometheus' format (version 0.0.4). Their names end in base units, according to its
/// conventions.
struct MetricsText {
    enum Kind: String { case gauge, counter, histogram }

    /// A value with the labels that distinguish it from other values of the metric.
    typealias Sample = (labels: [(name: String, value: String)], value: String)

    /// A metric with all its values.
    struct Family {
        let name: String
        let kind: Kind
        let help: String
        /// The values, in the order of the text. For a histogram their names have suffixes.
        fileprivate(set) var values: [(name: String, labels: [(name: String, value: String)], value: String)] = []

        /// The values without those of the buckets of a histogram.
        var scalars: [(name: String, labels: [(name: String, value: String)], value: String)] {
            kind == .histogram ? values.filter { !$0.name.hasSuffix("_bucket") } : values
        }
    }

    /// The metrics in the order of the text.
    private(set) var families: [Family] = []

    /// The text in Prometheus' format.
    var text: String {
        var text = ""
        for family in families {
            text += "# HELP \(family.name) \(family.help)\n# TYPE \(family.name) \(family.kind.rawValue)\n"
            for value in family.values { text += "\(value.name)\(Self.text(value.labels)) \(value.value)\n" }
        }
        return text
    }

    /// Adds a metric with one value.
    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: some Numeric & CustomStringConvertible) {
        add(name, kind, help, [([], value.description)])
    }

    /// Adds a metric with several values. A metric without values is left out.
    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ samples: [Sample]) {
        guard !samples.isEmpty else { return }
        families.append(
            Family(name: name, kind: kind, help: help, values: samples.map { (name, $0.labels, $0.value) }))
    }

    /// Adds a histogram of durations in seconds for each label.
    mutating func add(
        _ name: String, _ help: String, _ histograms: [(label: (name: String, value: String)?, Histogram)]
    ) {
        var family = Family(name: name, kind: .histogram, help: help)
        for (label, histogram) in histograms {
            let labels = label.map { [$0] } ?? []
            for (bound, count) in histogram.cumulative {
                family.values.append(("\(name)_bucket", labels + [("le", "\(bound.seconds)")], "\(count)"))
            }
            family.values.append(("\(name)_bucket", labels + [("le", "+Inf")], "\(histogram.count)"))
            family.values.append(("\(name)_sum", labels, "\(histogram.sum.seconds)"))
            family.values.append(("\(name)_count", labels, "\(histogram.count)"))
        }
        families.append(family)
    }

    private static func text(_ labels: [(name: String, value: String)]) -> String {
        labels.isEmpty ? "" : "{\(labels.map { "\($0.name)=\"\(escaped($0.value))\"" }.joined(separator: ","))}"
    }

    /// Returns the value of a label with special characters escaped, because names of applications may contain any.
    private static func escaped(_ value: String) -> String {
        var text = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

extension MetricsText {
    /// Adds the metrics of each application. Configured applications have them from the start.
    mutating func add(
        _ values: PlatformStatistics.Values, applications: [ApplicationID],
        present: [ApplicationID: (streams: Int, viewers: Int)]
    ) {
        let names = Set(applications).union(present.keys).union(values.applications.keys)
            .sorted { $0.description < $1.description }
        let each = { (value: (ApplicationID) -> Int) in
            names.map { name -> Sample in ([("application", name.description)], "\(value(name))") }
        }
        add("pcast_application_streams", .gauge, "Number of published streams.", each { present[$0]?.streams ?? 0 })
        add(
            "pcast_application_viewers", .gauge, "Number of viewers of all streams.", each { present[$0]?.viewers ?? 0 }
        )
        let counts = { (name: ApplicationID) in values.applications[name] ?? .init() }
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
            [(("role", "publisher"), values.publisherJoins), (("role", "viewer"), values.viewerJoins)])
        add(
            "pcast_notification_duration_seconds", "Time from a webhook request until its response, in seconds.",
            [(nil, values.notifications)])
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

extension MetricsText {
    mutating func add(_ counts: DatabaseWriteQueue.Counts) {
        add(
            "pcast_records_waiting", .gauge, "Number of changes that wait to be written to the database.",
            counts.waiting)
        add("pcast_record_failures_total", .counter, "Failed attempts to write to the database.", counts.failures)
        add(
            "pcast_records_dropped_total", .counter, "Changes that were dropped without being written to the database.",
            counts.dropped)
    }

    mutating func add(_ counts: WebhookDispatcher.Counts) {
        add(
            "pcast_notifications_delivered_total", .counter, "Webhook notifications that were delivered.",
            counts.delivered)
        add(
            "pcast_notification_failures_total", .counter, "Failed attempts to deliver a webhook notification.",
            counts.failedAttempts)
        add(
            "pcast_webhooks_failed_total", .counter, "Webhook notifications that failed after the last attempt.",
            counts.failed)
    }
}

extension MetricsText {
    /// Adds a counter for each limit from the start, so that the first rejection is visible as an increase.
    mutating func add(_ counts: RequestLimiter.Counts) {
        add(
            "pcast_requests_rejected_total", .counter,
            "Requests that were rejected because a limit was reached, by limit.",
            PlatformLimits.Name.allCases.map { ([("limit", $0.rawValue)], "\(counts.count($0))") })
    }
}

extension MetricsText {
    /// A stream and its application.
    struct StreamSource {
        let metrics: StreamMetrics
        let application: ApplicationID
    }

    /// The maximum number of streams with their own metrics. Those with the most subscribers are included, so that the
    /// output has a bound. The metrics of applications include all streams.
    static let streamLimit = 100

    mutating func add(_ streams: [StreamSource]) {
        let shown = streams.sorted { $0.metrics.viewers > $1.metrics.viewers }.prefix(Self.streamLimit)
        add(
            "pcast_streams_omitted", .gauge,
            "Number of streams without metrics of their own, because the maximum is reached.",
            streams.count - shown.count)
        let all = Array(shown)
        addEach("pcast_stream_viewers", "Number of viewers of the stream.", of: all) { [([], "\($0.viewers)")] }
        addEach(
            "pcast_stream_received_bytes_per_second",
            "Bytes per second received from the publisher, including headers.", of: all
        ) {
            $0.bitrate.map { [([], Self.bytes($0))] } ?? []
        }
        addEach("pcast_stream_round_trip_seconds", "Round-trip time to the publisher in seconds.", of: all) {
            $0.roundTrip.map { [([], "\($0.seconds)")] } ?? []
        }
        addCounts(all)
        addEach(
            "pcast_stream_limit_bytes_per_second",
            "Bit rate limit that the publisher receives because of its viewers' links (REMB), in bytes per second.",
            of: all
        ) { $0.limit.map { [([], Self.bytes($0))] } ?? [] }
        addEach(
            "pcast_stream_estimate_bytes_per_second",
            "Average available bandwidth of the viewers as estimated by congestion control, in bytes per second.",
            of: all
        ) { stream in
            guard stream.estimatedViewers > 0 else { return [] }
            return [([], "\(Double(stream.estimates.bitsPerSecond) / 8 / Double(stream.estimatedViewers))")]
        }
        addEach("pcast_stream_layer_viewers", "Number of viewers of each video layer.", of: all) { stream in
            stream.viewersOfLayers.sorted { $0.key < $1.key }.map { ([("layer", "\($0.key)")], "\($0.value)") }
        }
        addQualities(all)
    }

    /// Adds a metric of each stream. Streams without a value are left out.
    private mutating func addEach(
        _ name: String, _ help: String, _ kind: Kind = .gauge, of streams: [StreamSource],
        _ samples: (StreamMetrics) -> [Sample]
    ) {
        let all = streams.flatMap { source in
            samples(source.metrics).map { sample -> Sample in
                let whose = [
                    (name: "application", value: "\(source.application)"),
                    (name: "stream", value: "\(source.metrics.stream)"),
                ]
                return (whose + sample.labels, sample.value)
            }
        }
        add(name, kind, help, all)
    }

    private static func bytes(_ bitrate: Bitrate) -> String { "\(Double(bitrate.bitsPerSecond) / 8)" }

    private mutating func addCounts(_ streams: [StreamSource]) {
        let counts: [(name: String, help: String, value: (StreamMetrics.Counts) -> Int)] = [
            ("packets", "Media packets.", { $0.packets }),
            ("bytes", "Media bytes without headers.", { $0.bytes }),
            ("lost_packets", "Packets that were lost at their first transmission.", { $0.packetsLost }),
            ("retransmitted_packets", "Packets that were retransmitted.", { $0.retransmissions }),
            ("nacks", "Retransmission requests (NACK).", { $0.nacks }),
            ("key_frame_requests", "Key-frame requests (PLI and FIR).", { $0.keyFrameRequests }),
        ]
        for (name, help, value) in counts {
            addEach("pcast_stream_\(name)_total", help, .counter, of: streams) { stream in
                [
                    ([("hop", "publisher")], "\(value(stream.received))"),
                    ([("hop", "viewers")], "\(value(stream.sent))"),
                ]
            }
        }
    }

    private mutating func addQualities(_ streams: [StreamSource]) {
        addEach("pcast_stream_quality", "Data-quality status and reason of the publisher.", of: streams) { stream in
            [(Self.labels(stream.quality), "1")]
        }
        addEach("pcast_stream_viewer_quality", "Number of viewers by data-quality status and reason.", of: streams) {
            stream in
            stream.viewerQualities
                .sorted {
                    ($0.key.status.rawValue, $0.key.reason.rawValue) < ($1.key.status.rawValue, $1.key.reason.rawValue)
                }
                .map { (Self.labels($0.key), "\($0.value)") }
        }
    }

    private static func labels(_ quality: DataQuality) -> [(name: String, value: String)] {
        [("status", quality.status.rawValue), ("reason", quality.reason.rawValue)]
    }
}

extension MetricsText {
    mutating func add(_ counts: TimelineService.Counts) {
        add("pcast_timeline_games", .gauge, "Number of games whose timelines are in memory.", counts.games)
        add("pcast_timeline_consumers", .gauge, "Number of timeline consumers.", counts.consumers)
        add("pcast_timeline_revisions_total", .counter, "Timeline revisions that were recorded.", counts.revisions)
        add(
            "pcast_timeline_producers_off", .gauge,
            "Number of games whose producer has a clock that is off by more than 200 ms.", counts.producersOff)
    }
}
