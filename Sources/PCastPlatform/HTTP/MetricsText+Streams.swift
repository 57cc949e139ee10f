import PCastCore
import PCastSFU

extension MetricsText {
    /// A stream and its application.
    struct StreamSource {
        let figures: StreamMetrics
        let application: ApplicationID
    }

    /// The maximum number of streams with their own metrics. Those with the most subscribers are included, so that the
    /// output has a bound. The metrics of applications include all streams.
    static let streamLimit = 100

    mutating func add(_ streams: [StreamSource]) {
        let shown = streams.sorted { $0.figures.viewers > $1.figures.viewers }.prefix(Self.streamLimit)
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
            samples(source.figures).map { sample -> Sample in
                let whose = [
                    (name: "application", value: "\(source.application)"),
                    (name: "stream", value: "\(source.figures.stream)"),
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
