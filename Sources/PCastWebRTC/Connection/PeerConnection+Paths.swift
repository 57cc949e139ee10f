public import PCastMedia
import PCastRTP

/// Restarts of ICE, and addresses that come and go.
extension PeerConnection {
    // MARK: Restart

    /// Another offer, with new ICE credentials and everything else as it was: what restarts ICE where the platform is
    /// not heard any more. Nil before the first answer.
    ///
    /// - Parameter generator: a secure one.
    public mutating func makeRestartOffer(using generator: inout some RandomNumberGenerator) -> SessionDescription? {
        guard transport != nil else { return nil }
        let credentials = ICECredentials.random(using: &generator)
        restartCredentials = credentials
        offerMade = offerMade.restarted(credentials)
        return offerMade.description
    }

    /// Takes in the platform's answer to the last offer of a restart: its credentials and candidates. Keys, tracks and
    /// packets' numbers go on, and until a check succeeds so does the present path (ICE12).
    ///
    /// - Throws: `SDPError` when the answer does not fit; nothing has changed then.
    public mutating func acceptRestart(_ answer: SessionDescription, at now: Instant) throws(SDPError) {
        guard let local = restartCredentials, transport != nil else { throw .answerDoesNotMatchOffer }
        let remote = try offerMade.accept(answer).remoteTransport
        guard let theirs = ICECredentials(ufrag: remote.iceUfrag, password: remote.icePwd) else {
            throw .missingICECredentials
        }
        restartCredentials = nil
        credentials = local
        transport?.value.restart(local: local, remote: theirs, at: now)
        for candidate in remote.candidates.compactMap({ ICECandidate($0) }) {
            transport?.value.addRemoteCandidate(candidate, at: now)
        }
        follow(at: now)
    }

    /// The driver's sockets have these addresses from now on: a network is gone, or there is a new one.
    public mutating func setLocalAddresses(_ addresses: [TransportAddress], at now: Instant) {
        configuration.addresses = addresses
        transport?.value.setLocalAddresses(addresses, at: now)
        follow(at: now)
    }

    /// A tunnel to the platform (TURN) begins at this loopback address: it is tried where nothing else works.
    public mutating func addRelay(_ address: TransportAddress, at now: Instant) {
        guard let port = configuration.addresses.first?.port else { return }
        let local = TransportAddress(ip: address.ip, port: port)
        transport?.value.addRelay(address, from: local, at: now)
    }

    /// The tunnel is gone.
    public mutating func removeRelay(_ address: TransportAddress, at now: Instant) {
        transport?.value.removeRelay(address, at: now)
        follow(at: now)
    }

    /// The driver could not open it.
    public mutating func connectionFailed(to address: TransportAddress) {
        transport?.value.connectionFailed(to: address)
    }

    public mutating func pollEvent() -> Event? { events.isEmpty ? nil : events.removeFirst() }

    /// Says goodbye; what `poll` gives afterwards is the last.
    public mutating func close(at now: Instant) { transport?.value.close(at: now) }

    /// Counts and measures since the beginning, under WebRTC's own names.
    public func stats(at now: Instant) -> RTCStatsReport {
        var report = ConnectionStats(clock: configuration.clock, now: now)
        report.add(sender)
        report.add(receiver, video: videoBuffer?.value.statistics, audio: audioBuffer?.value.statistics)
        report.addTransport(
            traffic, path: transport?.value.path, profile: transport?.value.profile, lastHeard: lastHeard,
            roundTrip: statistics.roundTrip, estimate: estimate?.target)
        return report.report
    }

    /// Counts and measures since the beginning.
    public var statistics: PeerConnectionStatistics {
        PeerConnectionStatistics(
            sender: sender, receiver: receiver, video: videoBuffer?.value.statistics,
            audio: audioBuffer?.value.statistics,
            checkRoundTrip: transport?.value.roundTrip)
    }
}
