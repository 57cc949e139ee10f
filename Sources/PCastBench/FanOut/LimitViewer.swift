import PCastCore
import PCastRTP
import PCastWebRTC

/// A viewer of `LimitProgram`. It checks that packets are authentic, in order and complete. Like a `LightViewer`, it
/// sends a receiver report every second and arrival times every 100 ms. Both sides derive the keys from its number.
final class LimitViewer: LightPeer {
    struct Metrics: Sendable {
        var packets = 0
        var unauthentic = 0
        /// The number of packets that do not follow the previous one.
        var disorders = 0
        var reports = 0
    }

    private(set) var metrics = Metrics()

    private let receiver: SRTPReceiver
    private let sender: SRTPSender
    private let ssrc: UInt32
    private let decryptsEach: Int
    /// The number of frames before it records arrivals, which spreads the reports of the viewers.
    private var framesUntilRecorded: Int
    private var path: NetworkPath?
    private var mediaSSRC: UInt32 = 0
    private var next: UInt16?
    private var statistics: ReceiveStatistics?
    private var arrivals = TransportFeedbackRecorder()
    private var nextReport: Instant?
    private static let cname = Array("light".utf8)
    private static let reportInterval = TimeSpan.seconds(Int64(1))
    /// The size of the longest report, in bytes.
    private static let reportSize = 1_000

    /// Creates a viewer whose keys are derived from its number; see `scripts/fanout-limit.c`. For `decryptsEach`, see
    /// `LightViewer`. Returns nil if the keys are invalid.
    init?(_ number: UInt32, decryptsEach: Int) {
        let end = (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
        let key = [UInt8](repeating: 0, count: 12) + end
        let salt = [UInt8](repeating: 0, count: 8) + end
        let material = SRTPKeyingMaterial(
            profile: .aeadAES128GCM, exported: key + key + salt + salt, role: .server)
        guard let material else { return nil }
        (receiver, sender) = (SRTPReceiver(material), SRTPSender(material))
        ssrc = 0x2000_0000 + number
        self.decryptsEach = decryptsEach
        framesUntilRecorded = Int(number % 4)
    }

    func handle(_ datagram: MutableByteView, from path: NetworkPath, at now: Instant) {
        let bytes = datagram.span
        guard let header = RTPHeader.parseProtected(bytes) else { return }
        if let next, next != header.sequenceNumber { metrics.disorders += 1 }
        next = header.sequenceNumber &+ 1
        metrics.packets += 1
        note(header, number: Self.transportNumber(of: bytes), from: path, at: now)
        guard metrics.packets % decryptsEach == 0 else { return }
        if case .ok = receiver.unprotectRTP(datagram) { return }
        metrics.unauthentic += 1
    }

    /// Returns the transport-wide sequence number, which the program writes to the first header extension.
    private static func transportNumber(of bytes: Span<UInt8>) -> UInt16? {
        guard bytes.count > 20, bytes[16] == 0x31 else { return nil }
        return UInt16(bytes[17]) << 8 | UInt16(bytes[18])
    }

    private func note(_ header: RTPHeader, number: UInt16?, from path: NetworkPath, at now: Instant) {
        if statistics == nil {
            (self.path, mediaSSRC) = (path, header.ssrc)
            statistics = ReceiveStatistics(ssrc: header.ssrc, clockRate: .video)
            nextReport = now + Self.reportInterval
        }
        _ = statistics?.received(sequenceNumber: header.sequenceNumber, timestamp: header.timestamp, at: now)
        if framesUntilRecorded == 0, let number { arrivals.received(number, at: now) }
        if header.marker, framesUntilRecorded > 0 { framesUntilRecorded -= 1 }
    }

    // MARK: Reports

    func advance(to now: Instant) {}

    var deadline: Instant? { Instant.earlier(nextReport, arrivals.deadline) }

    func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        guard let path, let deadline, now >= deadline else { return false }
        guard let reportSize = batch.reserve() else { return true }
        var writer = RTCPWriter(reportSize.extracting(..<Self.reportSize))
        if let nextReport, now >= nextReport {
            self.nextReport = nextReport + Self.reportInterval
            writer.receiverReport(ssrc: ssrc)
            if let block = statistics?.reportBlock(at: now) { _ = writer.append(block) }
            writer.sourceDescription(ssrc: ssrc, cname: Self.cname.span)
            // The program does not answer it.
            writer.receiverReferenceTime(ssrc: ssrc, ntpTimestamp: UInt64(bitPattern: now.nanoseconds))
        }
        _ = arrivals.poll(into: &writer, senderSSRC: ssrc, mediaSSRC: mediaSSRC, at: now)
        let length = sender.protectRTCP(reportSize, length: writer.count)
        if length > 0 {
            batch.commit(length: length, to: path)
            metrics.reports += 1
        }
        return false
    }

    func close(at now: Instant) {}
}

/// The destination of `LimitProgram`'s packets. It uses the same socket and thread as the viewers.
typealias LimitSink = LoadGenerator<LimitViewer>

extension LoadGenerator where Peer == LimitViewer {
    /// Creates viewers that share a port.
    init(_ count: Int, port: UInt16, decryptsEach: Int) {
        self.init()
        for number in 0..<UInt32(count) {
            guard let viewer = LimitViewer(number, decryptsEach: decryptsEach) else { continue }
            let ip = IPAddress(v4: FanOutSetup.viewersBegin + number)
            add(viewer, at: TransportAddress(ip: ip, port: port))
        }
    }

    /// The sums over all viewers.
    var metrics: LimitViewer.Metrics {
        peers.reduce(into: LimitViewer.Metrics()) { sum, viewer in
            sum.packets += viewer.metrics.packets
            sum.unauthentic += viewer.metrics.unauthentic
            sum.disorders += viewer.metrics.disorders
            sum.reports += viewer.metrics.reports
        }
    }
}
