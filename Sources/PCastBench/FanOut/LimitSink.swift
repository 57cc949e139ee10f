import PCastMedia
import PCastRTP
import PCastWebRTC

/// Where the packets of `LimitProgram` go: the same socket and thread as the viewers', which looks whether they are
/// authentic, in order and complete.
struct LimitSink: ~Copyable, DatagramMachine {
    private var receivers: [SRTPReceiver] = []
    private var next: [UInt16?] = []
    private var packetsOf: [Int] = []
    private let decryptsEach: Int
    private let firstAddress: UInt32

    struct Figures: Sendable {
        var packets = 0
        var unauthentic = 0
        /// Not the one that follows the last.
        var disorders = 0
    }

    private(set) var figures = Figures()

    init(_ count: Int, firstAddress: UInt32, decryptsEach: Int) {
        self.firstAddress = firstAddress
        self.decryptsEach = decryptsEach
        renew(count)
    }

    /// Forgets everything, for a program that starts over.
    mutating func renew(_ count: Int) {
        figures = Figures()
        next = Array(repeating: nil, count: count)
        packetsOf = Array(repeating: 0, count: count)
        receivers = (0..<UInt32(count)).compactMap { number in
            let end = (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
            let key = [UInt8](repeating: 0, count: 12) + end
            let salt = [UInt8](repeating: 0, count: 8) + end
            return SRTPKeyingMaterial(profile: .aeadAES128GCM, exported: key + key + salt + salt, role: .server)
                .map { SRTPReceiver($0) }
        }
    }

    mutating func handle(_ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant) {
        let place = Int(path.local.ip.v4 ?? 0) - Int(firstAddress)
        guard receivers.indices.contains(place),
            let header = RTPHeader.parseProtected(Span(_unsafeBytes: UnsafeRawBufferPointer(datagram)))
        else { return }
        if let next = next[place], next != header.sequenceNumber { figures.disorders += 1 }
        next[place] = header.sequenceNumber &+ 1
        figures.packets += 1
        packetsOf[place] += 1
        guard packetsOf[place] % decryptsEach == 0 else { return }
        if case .ok = receivers[place].unprotectRTP(datagram) { return }
        figures.unauthentic += 1
    }

    mutating func advance(to now: Instant) {}
    mutating func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool { false }
    mutating func pathClosed(_ path: NetworkPath, at now: Instant) {}
    var deadline: Instant? { nil }
}
