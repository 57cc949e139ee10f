import PCastMedia
import PCastRelay

/// What the platform counts, in Prometheus' text format (version 0.0.4).
struct MetricsText {
    private(set) var text = ""

    /// One figure of the whole platform.
    mutating func add(_ name: String, _ kind: Kind, _ help: String, _ value: Int) {
        begin(name, kind, help)
        text += "\(name) \(value)\n"
    }

    enum Kind: String { case gauge, counter }

    private mutating func begin(_ name: String, _ kind: Kind, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
    }

    /// A figure of each stream; streams of which it is not known are left out.
    private mutating func add(
        _ name: String, _ kind: Kind, _ help: String, _ streams: [StreamFigures],
        _ samples: (StreamFigures) -> [(labels: String, value: String)]
    ) {
        var lines = ""
        for stream in streams {
            for sample in samples(stream) {
                let labels = sample.labels.isEmpty ? "" : ",\(sample.labels)"
                lines += "\(name){stream=\"\(stream.stream)\"\(labels)} \(sample.value)\n"
            }
        }
        guard !lines.isEmpty else { return }
        begin(name, kind, help)
        text += lines
    }

    mutating func add(_ streams: [StreamFigures]) {
        add("pcast_stream_viewers", .gauge, "Viewers of the stream.", streams) { [("", "\($0.viewers)")] }
        add("pcast_stream_bits_per_second", .gauge, "What arrives of the publisher, on the wire.", streams) { stream in
            stream.bitrate.map { [("", "\($0.bitsPerSecond)")] } ?? []
        }
        add("pcast_stream_round_trip_seconds", .gauge, "To the publisher and back.", streams) { stream in
            stream.roundTrip.map { [("", "\($0.seconds)")] } ?? []
        }
        addCounts(streams)
        add(
            "pcast_stream_limit_bits_per_second", .gauge,
            "What the publisher is asked to stay below for its viewers' sake.", streams
        ) { stream in stream.limit.map { [("", "\($0.bitsPerSecond)")] } ?? [] }
        add(
            "pcast_stream_estimate_bits_per_second", .gauge,
            "What the viewers' downlinks carry on the average, as congestion control finds out.", streams
        ) { stream in
            stream.estimatedViewers == 0
                ? [] : [("", "\(stream.estimates.bitsPerSecond / Int64(stream.estimatedViewers))")]
        }
        add("pcast_stream_layer_viewers", .gauge, "Viewers that are sent each layer of the video.", streams) { stream in
            stream.viewersOfLayers.sorted { $0.key < $1.key }.map { ("layer=\"\($0.key)\"", "\($0.value)") }
        }
        addQualities(streams)
    }

    private mutating func addCounts(_ streams: [StreamFigures]) {
        let counts: [(name: String, help: String, value: (StreamFigures.Counts) -> Int)] = [
            ("packets", "Packets of media.", { $0.packets }),
            ("bytes", "Bytes of media, headers not counted.", { $0.bytes }),
            ("lost_packets", "Packets that did not arrive when they were first sent.", { $0.packetsLost }),
            ("retransmitted_packets", "Packets that were sent again.", { $0.retransmissions }),
            ("nacks", "Requests to send packets again.", { $0.nacks }),
            ("key_frame_requests", "Requests for key frames (PLI and FIR).", { $0.keyFrameRequests }),
        ]
        for (name, help, value) in counts {
            add("pcast_stream_\(name)_total", .counter, "\(help)", streams) { stream in
                [
                    ("hop=\"publisher\"", "\(value(stream.received))"), ("hop=\"viewers\"", "\(value(stream.sent))"),
                ]
            }
        }
    }

    private mutating func addQualities(_ streams: [StreamFigures]) {
        add("pcast_stream_quality", .gauge, "The row of data quality that the publisher has.", streams) { stream in
            [(Self.labels(stream.quality), "1")]
        }
        add("pcast_stream_viewer_quality", .gauge, "Viewers that have each row of data quality.", streams) { stream in
            stream.viewerQualities.map { (Self.labels($0.key), "\($0.value)") }.sorted { $0.0 < $1.0 }
        }
    }

    private static func labels(_ quality: DataQuality) -> String {
        "status=\"\(quality.status.rawValue)\",reason=\"\(quality.reason.rawValue)\""
    }
}
