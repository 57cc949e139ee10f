public import PCastCore
import PCastRTP

/// ICE restarts and changes of network addresses.
extension PeerConnection {
    // MARK: Restart

    /// Returns a new offer that restarts ICE: it has new credentials and is otherwise the same. It is used when the
    /// platform is not reachable. Returns nil before the first answer.
    ///
    /// - Parameter generator: A cryptographically secure generator.
    /// - Returns: The offer to send to the platform.
    public mutating func makeRestartOffer(using generator: inout some RandomNumberGenerator) -> SessionDescription? {
        guard transport != nil else { return nil }
        let credentials = ICECredentials.random(using: &generator)
        restartCredentials = credentials
        offerMade = offerMade.restarted(credentials)
        return offerMade.description
    }

    /// Applies the answer to the last restart offer, with its credentials and candidates.
    ///
    /// Keys, tracks and sequence numbers do not change, and media stays on the present path until a check succeeds (RFC
    /// 8445, section 9).
    ///
    /// - Parameters:
    ///   - answer: The answer of the platform.
    ///   - now: The current time.
    /// - Throws: `SDPError` if the answer does not match the offer. Nothing has changed then.
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

    /// Sets the addresses of the driver's sockets after a network has appeared or disappeared.
    public mutating func setLocalAddresses(_ addresses: [TransportAddress], at now: Instant) {
        configuration.addresses = addresses
        transport?.value.setLocalAddresses(addresses, at: now)
        follow(at: now)
    }

    /// Adds a TURN tunnel to the platform, which begins at a loopback address. It is used if no other path works.
    public mutating func addRelay(_ address: TransportAddress, at now: Instant) {
        guard let port = configuration.addresses.first?.port else { return }
        let local = TransportAddress(ip: address.ip, port: port)
        transport?.value.addRelay(address, from: local, at: now)
    }

    /// Removes a TURN tunnel that is closed.
    public mutating func removeRelay(_ address: TransportAddress, at now: Instant) {
        transport?.value.removeRelay(address, at: now)
        follow(at: now)
    }

    /// Reports that the driver could not open the connection of an ``Event/openConnection(to:)`` event.
    public mutating func connectionFailed(to address: TransportAddress) {
        transport?.value.connectionFailed(to: address)
    }

    /// Returns the next event; nil if there is none.
    public mutating func pollEvent() -> Event? { events.isEmpty ? nil : events.removeFirst() }

    /// Closes the connection. The caller still sends the datagrams that ``poll(into:at:)`` returns, which end with a
    /// DTLS close_notify alert.
    public mutating func close(at now: Instant) { transport?.value.close(at: now) }

    /// Returns the statistics since the beginning under their names in W3C webrtc-stats.
    public func stats(at now: Instant) -> RTCStatsReport {
        var report = ConnectionStats(clock: configuration.clock, now: now)
        report.add(sender)
        report.add(receiver, video: videoBuffer?.value.statistics, audio: audioBuffer?.value.statistics)
        report.addTransport(
            traffic, path: transport?.value.path, profile: transport?.value.profile, lastReceivedAt: lastReceivedAt,
            roundTrip: statistics.roundTrip, estimate: estimate?.target)
        return report.report
    }

    /// The statistics since the beginning.
    public var statistics: PeerConnectionStatistics {
        PeerConnectionStatistics(
            sender: sender, receiver: receiver, video: videoBuffer?.value.statistics,
            audio: audioBuffer?.value.statistics,
            checkRoundTrip: transport?.value.roundTrip)
    }
}
