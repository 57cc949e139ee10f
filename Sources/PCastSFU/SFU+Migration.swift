import PCastCore
import PCastRTP
import PCastWebRTC

/// The budget for decryptions of packets from unknown paths. Anyone can send such packets, and each may be decrypted with
/// the keys of several peers.
///
/// A migrated peer whose packet exceeds the budget is found by a later packet. Connectivity checks do not need it.
struct MigrationBudget {
    /// The time in which one further decryption becomes available, which is a rate of 1,000 per second.
    static let interval = TimeSpan.milliseconds(1)
    /// The maximum number of decryptions at once.
    static let burst: Int64 = 200

    /// The time at which the budget is complete again (generic cell rate algorithm, ITU-T I.371).
    private var whole = Instant(nanoseconds: .min)

    /// Whether this number of decryptions is permitted now. If true, they count as done.
    mutating func take(_ count: Int = 1, at now: Instant) -> Bool {
        let next = max(whole, now) + Self.interval * Int64(count)
        guard next - now <= Self.interval * Self.burst else { return false }
        whole = next
        return true
    }
}

/// The migration of peers whose address changes, because a NAT lost its binding or the network changed.
///
/// A media packet from an unknown path identifies its sender only by its SSRC. The peer whose keys authenticate the
/// packet is its sender. That peer receives one binding request on the new path, which is used once the peer answers.
/// Packets that are not authentic or were received before cause no migration.
extension SFU {
    /// Processes a packet of a peer that may have migrated. Returns true if a peer authenticated it.
    mutating func handleMigration(
        _ datagram: ReceivedDatagram, at now: Instant
    ) -> Bool {
        guard datagram.path.transport == .udp, let source = datagram.source else { return false }
        let candidates = sources.candidates(source)
        guard candidates.count > 1 || (candidates.count == 1 && shardLinks.exist) else {
            guard let candidate = candidates.first, migrationBudget.take(at: now) else { return false }
            return handle(datagram, to: candidate, at: now)
        }
        guard migrationBudget.take(candidates.count, at: now) else { return false }
        // A failed decryption may modify the datagram, so each candidate receives the original bytes.
        let original = Array(datagram.bytes)
        for candidate in candidates {
            datagram.bytes.copyBytes(from: original)
            if handle(datagram, to: candidate, at: now) { return true }
        }
        // The other shards receive the original bytes next.
        datagram.bytes.copyBytes(from: original)
        return false
    }

    /// Records the SSRCs that a peer has started to send with.
    mutating func rememberSources(_ peerIndex: PeerIndex) {
        switch peerIndex {
        case .publisher(let index):
            while let source = streams[index].transport?.takeNewSource() {
                if streams[index].routes.add(source: source) { _ = sources.add(source, peerIndex) }
            }
        case .viewer(let index):
            while let source = viewers[index].transport.takeNewSource() {
                if viewers[index].routes.add(source: source) { _ = sources.add(source, peerIndex) }
            }
        }
    }

    /// Records the path of a check, because its answer will come from there.
    mutating func rememberProbe(_ peerIndex: PeerIndex) {
        noteControl(peerIndex)
        switch peerIndex {
        case .publisher(let index):
            guard let path = streams[index].probedPath else { return }
            remember(probe: path, instead: streams[index].routes.probedPath, of: peerIndex)
            streams[index].routes.probedPath = path
        case .viewer(let index):
            guard let path = viewers[index].transport.probedPath else { return }
            remember(probe: path, instead: viewers[index].routes.probedPath, of: peerIndex)
            viewers[index].routes.probedPath = path
        }
    }

    private mutating func remember(probe path: NetworkPath, instead last: NetworkPath?, of peerIndex: PeerIndex) {
        guard path != last else { return }
        discard(probe: last, of: peerIndex)
        probedPaths[path] = peerIndex
        notifyPeerShards(path, .asked)
    }

    mutating func discard(probe path: NetworkPath?, of peerIndex: PeerIndex) {
        guard let path, probedPaths[path] == peerIndex else { return }
        probedPaths[path] = nil
        if paths[path] == nil { notifyPeerShards(path, .left) }
    }
}
