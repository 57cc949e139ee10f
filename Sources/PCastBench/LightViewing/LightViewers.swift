import PCastIO
import PCastMedia
import PCastWeb
import PCastWebRTC

/// Light viewers of one stream, on one thread, each with a socket of its own, that come by WHEP.
final class LightViewers: Sendable {
    private let loop: EventLoop<LightAudience>
    private let clock = MonotonicClock.reference()
    private let certificate: DTLSCertificate

    /// - Parameters:
    ///   - count: of the viewers, which have so many ports from the first one on.
    ///   - ip: where from they come.
    init(_ count: Int, from ip: IPAddress, firstPort: UInt16) throws {
        certificate = try DTLSCertificate.generate(at: clock.wallTime)
        loop = try EventLoop(
            name: "light", listen: (0..<count).map { TransportAddress(ip: ip, port: firstPort + UInt16($0)) },
            tcpListen: false, makeMachine: { _ in LightAudience() }, afterTurn: { _, _ in })
    }

    /// Brings all of them to a stream, one after the other.
    ///
    /// - Parameter uri: of the platform.
    /// - Throws: `BenchFailure` when one is refused, `WebError`.
    func join(_ stream: StreamID, at uri: String, token: String) async throws {
        for address in loop.boundAddresses {
            var generator = SystemRandomNumberGenerator()
            let own = LightViewerOffer(certificate: certificate, using: &generator)
            let answer = try await HTTPRequests.send(
                "POST", "\(uri)/whep/\(stream)",
                headers: [("Authorization", "Bearer \(token)"), ("Content-Type", "application/sdp")],
                body: Array(own.offer.description.text.utf8))
            let text = String(decoding: answer.body, as: UTF8.self)
            guard answer.status == 201 else { throw BenchFailure("WHEP answered \(answer.status): \(text)") }
            let description = try SessionDescription(parsing: text)
            let refusal = try await loop.call { [clock] audience, now -> SDPError? in
                do throws(SDPError) {
                    let viewer = try LightViewer(own, answer: description, address: address, clock: clock, at: now)
                    audience.add(viewer, at: address)
                    return nil
                } catch {
                    return error
                }
            }
            if let refusal { throw refusal }
        }
    }

    /// Waits until all have pictures and sound.
    ///
    /// - Throws: `BenchFailure` when they do not in time.
    func watching(within patience: TimeSpan) async throws {
        let limit = MonotonicClock.now() + patience
        while true {
            let figures = try await figures()
            if figures.watching == loop.boundAddresses.count { return }
            guard MonotonicClock.now() < limit else {
                throw BenchFailure("\(figures.watching) of \(loop.boundAddresses.count) light viewers watch")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Counts from now on.
    func begin() async throws {
        try await loop.call { audience, _ in
            for viewer in audience.peers { viewer.beginCounting() }
        }
    }

    /// What was counted; and what this end's sockets lost, which the platform is not to blame for.
    func figures() async throws -> LightViewingFigures {
        var figures = try await loop.call { audience, _ in LightViewingFigures(audience.peers) }
        figures.ownDrops = try await loop.statistics().kernelDrops
        return figures
    }

    /// Says goodbye for all.
    func leave() {
        try? loop.submit { audience, now in audience.close(at: now) }
        loop.stop()
    }
}
