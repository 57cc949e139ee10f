import PCast
import PCastCore
import PCastJSON

/// The statistics of a subscriber as events, as a status block and as a line of text.
enum ViewerMetrics {
    static func fields(_ statistics: ViewerStatistics) -> KeyValuePairs<String, JSONValue> {
        [
            "framesDecoded": .count(statistics.framesDecoded),
            "framesRendered": .count(statistics.framesRendered),
            "framesDropped": .count(statistics.framesDropped),
            "freezeCount": .count(statistics.freezeCount),
            "freezeDuration": .measured(statistics.freezeDuration),
            "bitrate": .count(statistics.bitrate),
            "packetsLost": .count(statistics.packetsLost),
            "nackCount": .count(statistics.nackCount),
            "pliCount": .count(statistics.pliCount),
            "jitter": .measured(statistics.jitter),
            "roundTripTime": .measured(statistics.roundTripTime),
            "latencyP50": .measured(statistics.latencyP50),
            "latencyP99": .measured(statistics.latencyP99),
            "framesBroken": statistics.framesBroken.map { JSONValue.count($0) } ?? .null,
            "audioVideoSkew": .measured(statistics.audioVideoSkew),
            "audioConcealed": .measured(statistics.audioConcealed),
            "packetsRepeated": .count(statistics.packetsRepeated),
            "playoutDelay": .measured(statistics.playoutDelay),
            "playoutGroup": .text(statistics.playoutGroup),
        ]
    }

    /// Returns the fields of the event `summary`: all statistics, and those of the start-up phase and of the time after
    /// it.
    static func summary(_ statistics: ViewerStatistics) -> [(key: String, value: JSONValue)] {
        Array(fields(statistics)) + [
            ("timeToLiveEdge", .measured(statistics.timeToLiveEdge)),
            ("startUpFramesRendered", statistics.startUpFramesRendered.map { JSONValue.count($0) } ?? .null),
            ("startUpFramesSkipped", .count(statistics.startUpFramesSkipped)),
            ("startUpLatencyMaximum", .measured(statistics.startUpLatencyMaximum)),
            ("steadyLatencyP50", .measured(statistics.steadyLatencyP50)),
            ("steadyLatencyP99", .measured(statistics.steadyLatencyP99)),
        ]
    }

    static func block(
        _ statistics: ViewerStatistics, elapsed: TimeSpan, link: LinkState.Value, dimensions: Dimensions?,
        quality: DataQuality
    ) -> StatusBlock {
        let size = dimensions.map { "\($0.width)x\($0.height), " } ?? ""
        return StatusBlock(
            title: "Subscribed  \(elapsed.clockText)  \(link.rawValue)  (Ctrl-C stops)",
            rows: [
                .init("receiving", "\(size)\(Figure.bitrate(Double(statistics.bitrate)))"),
                .init(
                    "frames",
                    "\(statistics.framesRendered) rendered, \(statistics.framesDropped) dropped, "
                        + "\(statistics.freezeCount) freezes"),
                .init(
                    "network",
                    "round trip \(Figure.milliseconds(statistics.roundTripTime)), "
                        + "jitter \(Figure.milliseconds(statistics.jitter)), \(statistics.packetsLost) packets lost"),
                .init(
                    "latency",
                    "\(Figure.milliseconds(statistics.latencyP50)) median, "
                        + "99 % within \(Figure.milliseconds(statistics.latencyP99))\(skew(statistics))"),
                .init("quality", quality.text),
            ])
    }

    private static func skew(_ statistics: ViewerStatistics) -> String {
        guard let skew = statistics.audioVideoSkew else { return "" }
        return ", audio \(Figure.milliseconds(abs(skew))) \(skew < 0 ? "ahead of" : "behind") video"
    }

    static func line(_ statistics: ViewerStatistics, elapsed: TimeSpan) -> String {
        "\(elapsed.clockText)  \(Figure.bitrate(Double(statistics.bitrate))), \(statistics.framesRendered) frames, "
            + "\(statistics.packetsLost) packets lost, round trip \(Figure.milliseconds(statistics.roundTripTime)), "
            + "latency \(Figure.milliseconds(statistics.latencyP50))"
    }
}
