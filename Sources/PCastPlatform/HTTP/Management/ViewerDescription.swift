import Hummingbird
import PCastCore
import PCastIO
import PCastJWT
import PCastSFU

/// The state of a viewer in real time.
struct ViewerState: Sendable {
    let id: StreamID
    let address: IPAddress?
    /// The time since the viewer joined.
    let age: TimeSpan
    let quality: DataQuality
    /// The time of the last change of the quality; nil if it has been good since the start.
    let qualitySince: WallTime?
    /// Nil for a viewer by SRT, and for one that has left.
    let statistics: PeerStatistics?
    /// Nil for a viewer without video.
    let layers: ViewedLayers?

    /// The bit rate of the best layer that the viewer could receive; nil if unknown.
    var neededBitrate: Bitrate? { layers?.layers.first { $0.isAvailable }?.bitrate }

    /// The share of the packets that were lost on the way to the viewer, from 0 to 1.
    var loss: Double? {
        guard let statistics, statistics.packets > 0 else { return nil }
        return min(max(Double(statistics.packetsLost) / Double(statistics.packets), 0), 1)
    }
}

/// The reason why a viewer does not receive the best quality.
struct ViewerCause: Encodable, Hashable {
    /// `away`, `codec`, `link`, `publisher`, `limit`, `layer`, `loss` or `round-trip`.
    let code: String
    /// A clause in English without a full stop.
    let message: String

    /// The share of lost packets, and the round-trip time, from which on they are reported.
    private static let notableLoss = 0.02
    private static let notableRoundTrip = TimeSpan.milliseconds(300 as Int64)
    /// The number of packets from which on the share of lost ones is meaningful.
    private static let minimumPackets = 200

    private init(_ code: String, _ message: String) { (self.code, self.message) = (code, message) }

    /// Returns the reason for the state of a viewer; nil if its quality is good.
    init?(_ viewer: ViewerState) {
        if viewer.statistics?.isAway == true {
            self.init("away", "no packets arrive from it")
        } else if viewer.layers?.cause == .codec {
            self.init("codec", "it does not decode the publisher's codec")
        } else if viewer.layers?.cause == .link || [.downloadLimited, .networkLimited].contains(viewer.quality.reason) {
            self.init("link", Self.link(viewer))
        } else if viewer.quality.reason == .uploadLimited {
            self.init("publisher", "the publisher's uplink is too slow")
        } else if viewer.layers?.cause == .publisher || viewer.quality.reason == .publisherLimited {
            self.init("publisher", "the publisher sends less")
        } else if viewer.layers?.cause == .limit {
            self.init("limit", "the viewer limits the bit rate")
        } else if viewer.layers?.cause == .pin {
            self.init("layer", "the viewer selected the layer \(viewer.layers?.pinned ?? "")")
        } else if let loss = viewer.loss, loss >= Self.notableLoss,
            viewer.statistics?.packets ?? 0 >= Self.minimumPackets
        {
            self.init("loss", "\(Self.rounded(loss * 100)) % of the packets were lost")
        } else if let roundTrip = viewer.statistics?.roundTrip, roundTrip >= Self.notableRoundTrip {
            self.init("round-trip", "the round trip takes \(Int64(roundTrip.milliseconds)) ms")
        } else {
            return nil
        }
    }

    private static func link(_ viewer: ViewerState) -> String {
        guard let available = viewer.statistics?.availableBitrate else { return "its link is too slow" }
        let carried = rounded(Double(available.bitsPerSecond) / 1e6)
        // The estimate may already exceed the bit rate while the better layer is tried.
        guard let needed = viewer.neededBitrate, needed.bitsPerSecond > available.bitsPerSecond else {
            return "its link carries \(carried) Mbit/s"
        }
        return "its link carries \(carried) of \(rounded(Double(needed.bitsPerSecond) / 1e6)) Mbit/s"
    }

    /// Returns a number with one decimal place, or two for small ones.
    private static func rounded(_ number: Double) -> String {
        let scale = number < 0.1 ? 100.0 : 10.0
        return "\((number * scale).rounded() / scale)"
    }
}

extension StreamDirectory {
    /// Returns the viewers of a stream in real time, those with poor quality first.
    func viewers(of stream: StreamID, length: Int) async -> (viewers: [ViewerState], total: Int) {
        let now = MonotonicClock.now()
        let all = (registry.subscribers[stream] ?? []).compactMap { peer in
            registry.participants[peer].flatMap { $0.isViewer ? (peer: peer, participant: $0) : nil }
        }
        let ordered = all.sorted { left, right in
            let isLeftGood = left.participant.quality == .good
            let isRightGood = right.participant.quality == .good
            guard isLeftGood == isRightGood else { return isRightGood }
            return left.peer.value < right.peer.value
        }
        var states: [ViewerState] = []
        for (peer, participant) in ordered.prefix(length) {
            states.append(
                ViewerState(
                    id: participant.streamID, address: participant.address, age: now - participant.entered,
                    quality: participant.quality, qualitySince: participant.qualitySince,
                    statistics: await router.statistics(of: peer), layers: await router.layers(viewedBy: peer)))
        }
        return (states, all.count)
    }
}

/// The request for the viewers of a stream, and the reasons for their quality.
extension ManagementAPI {
    private struct ViewerDescription: Encodable {
        let viewId: String
        /// Nil for the role `view`.
        let address: String?
        /// The time since the viewer joined in milliseconds.
        let age: Int64
        let dataQuality: StreamDescription.Quality
        /// The time of the last change of the quality in milliseconds since 1970 (UTC).
        let qualitySince: Int64?
        let cause: ViewerCause?
        /// The name of the layer that is sent.
        let layer: String?
        /// The bit rates in bits per second.
        let availableBitrate: Int64?
        let neededBitrate: Int64?
        /// The round-trip time in milliseconds.
        let roundTrip: Int64?
        let loss: Double?

        init(_ viewer: ViewerState, showsAddress: Bool) {
            viewId = viewer.id.description
            address = showsAddress ? viewer.address?.description : nil
            age = Int64(viewer.age.milliseconds)
            dataQuality = StreamDescription.Quality(viewer.quality)
            qualitySince = viewer.qualitySince?.millisecondsSinceEpoch
            cause = ViewerCause(viewer)
            layer = viewer.layers?.current
            availableBitrate = viewer.statistics?.availableBitrate?.bitsPerSecond
            neededBitrate = viewer.neededBitrate?.bitsPerSecond
            roundTrip = viewer.statistics?.roundTrip.map { Int64($0.milliseconds) }
            loss = viewer.loss
        }
    }

    private struct ViewerList: Encodable {
        let status = "ok"
        let viewers: [ViewerDescription]
        /// The number of all viewers in real time, of which `viewers` has those with the poorest quality.
        let total: Int
        /// The number of viewers by HLS, which are not distinguished.
        let hlsViewers: Int
    }

    /// Returns the viewers of a live stream, those with poor quality first. The addresses of viewers are personal data,
    /// which the role `view` does not need.
    ///
    /// - Throws: ``ApplicationFailure``.
    func listViewers(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let length = try request.number("length", 1...200, default: 50)
        let id = StreamID(try request.part("stream"))
        guard let live = await directory.live(id, of: request.application) else { throw .notFound }
        let (viewers, total) = await directory.viewers(of: live.stream.id, length: Int(length))
        return ApplicationAnswer.json(
            ViewerList(
                viewers: viewers.map { ViewerDescription($0, showsAddress: request.role >= .operate) }, total: total,
                hlsViewers: directory.packaging?.viewerCount(of: live.stream.id) ?? 0))
    }
}
