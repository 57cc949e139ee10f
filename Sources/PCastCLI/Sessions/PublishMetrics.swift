import PCast
import PCastCore
import PCastJSON

/// The statistics of a publisher as events, as a status block and as a line of text.
enum PublishMetrics {
    /// Returns the fields of the event `stats`. `media` are the devices; nil if there are none.
    static func fields(
        _ statistics: PublisherStatistics, _ media: UserMediaStream?
    ) -> KeyValuePairs<String, JSONValue> {
        [
            "framesCaptured": .count(statistics.framesCaptured),
            "framesEncoded": .count(statistics.framesEncoded),
            "framesDropped": .count(statistics.framesDropped),
            "bitrate": .count(statistics.bitrate),
            "targetBitrate": .count(statistics.targetBitrate),
            "packetsSent": .count(statistics.packetsSent),
            "packetsRetransmitted": .count(statistics.packetsRetransmitted),
            "roundTripTime": .measured(statistics.roundTripTime),
            "encodeTime": .measured(statistics.encodeTime),
            "layersEncoded": .count(statistics.layersEncoded),
            "hasSubscribers": .boolean(statistics.hasSubscribers),
            "videoOpen": media.map { .boolean($0.isVideoOpen) } ?? .null,
            "audioOpen": media.map { .boolean($0.isAudioOpen) } ?? .null,
        ]
    }

    static func block(
        _ statistics: PublisherStatistics, _ media: UserMediaStream?, elapsed: TimeSpan, link: LinkState.Value,
        quality: DataQuality
    ) -> StatusBlock {
        let size = media?.dimensions.map { "\($0.width)x\($0.height), " } ?? ""
        let sent = Double(statistics.packetsSent)
        return StatusBlock(
            title: "Publishing  \(elapsed.clockText)  \(link.rawValue)  (Ctrl-C stops)",
            rows: [
                .init("sending", size + sending(statistics)),
                .init(
                    "frames",
                    "\(statistics.framesCaptured) captured, \(statistics.framesEncoded) encoded, "
                        + "\(statistics.framesDropped) dropped"),
                .init(
                    "network",
                    "round trip \(Figure.milliseconds(statistics.roundTripTime)), "
                        + "\(Figure.percent(Double(statistics.packetsRetransmitted), of: sent)) retransmitted"),
                .init("devices", devices(statistics, media)),
                .init("encoder", "\(Figure.milliseconds(statistics.encodeTime)) per frame"),
                // The quality has no meaning without subscribers.
                .init("quality", statistics.hasSubscribers || quality.status != .all ? quality.text : "–"),
            ])
    }

    /// Returns whether the devices are open, and whether there are subscribers.
    private static func devices(_ statistics: PublisherStatistics, _ media: UserMediaStream?) -> String {
        let names = [
            media?.videoSelection.map { "\($0.device.info.name) \(media?.isVideoOpen == true ? "open" : "closed")" },
            media?.audioSelection.map { "\($0.device.info.name) \(media?.isAudioOpen == true ? "open" : "closed")" },
        ].compactMap(\.self)
        let watched = statistics.hasSubscribers ? "watched" : "no subscribers"
        return (names + [watched]).joined(separator: ", ")
    }

    static func line(_ statistics: PublisherStatistics, elapsed: TimeSpan) -> String {
        "\(elapsed.clockText)  \(sending(statistics)), \(statistics.framesEncoded) frames, "
            + "\(statistics.framesDropped) dropped, round trip \(Figure.milliseconds(statistics.roundTripTime))"
    }

    /// Returns the bit rate and the video encoder's target. Without subscribers nothing is encoded, so the text says
    /// that instead of rates of zero.
    private static func sending(_ statistics: PublisherStatistics) -> String {
        guard statistics.hasSubscribers else { return "idle without subscribers" }
        return "\(Figure.bitrate(Double(statistics.bitrate))), video target "
            + Figure.bitrate(Double(statistics.targetBitrate))
    }
}

extension DataQuality {
    /// The quality as text for users.
    var text: String {
        let what =
            switch status {
            case .all: "good"
            case .audioOnly: "audio only"
            case .noData: "no data"
            }
        return reason == .none ? what : "\(what) (\(reason.rawValue))"
    }
}
