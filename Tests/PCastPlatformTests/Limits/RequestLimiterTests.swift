import PCastCore
import Testing

@testable import PCastPlatform

/// The quotas of clients.
@Suite struct RequestLimiterTests {
    private func limiter(_ limits: [PlatformLimits.Name: Int64]) -> RequestLimiter {
        var all = PlatformLimits()
        for (name, value) in limits { all[name] = value }
        return RequestLimiter(limits: all)
    }

    private let first = ApplicationID("first")
    private let second = ApplicationID("second")
    private let here = IPAddress("192.0.2.1")
    private let there = IPAddress("192.0.2.2")

    /// Returns the reason for which there is no place; nil if there is one.
    private func refusal(
        _ limiter: RequestLimiter, _ kind: QuotaReservation.Kind, _ application: ApplicationID, _ address: IPAddress?
    ) -> APIError? {
        do throws(APIError) {
            _ = try limiter.reserve(kind, of: application, from: address)
            return nil
        } catch {
            return error
        }
    }

    @Test("a reached quota of the platform, an application or an address rejects clients") func bounds() throws {
        let limiter = limiter([.streams: 4, .streamsPerApplication: 3, .streamsPerAddress: 2])
        var seats = [
            try limiter.reserve(.stream, of: first, from: here),
            try limiter.reserve(.stream, of: first, from: here),
        ]
        let ofAddress = refusal(limiter, .stream, second, here)
        #expect(ofAddress?.kind == .capacity && ofAddress?.message.hasPrefix("Your address") == true)
        seats.append(try limiter.reserve(.stream, of: first, from: there))
        let ofApplication = refusal(limiter, .stream, first, there)
        #expect(ofApplication?.kind == .capacity && ofApplication?.message.hasPrefix("The application") == true)
        seats.append(try limiter.reserve(.stream, of: second, from: there))
        let ofAll = refusal(limiter, .stream, second, IPAddress("192.0.2.3"))
        #expect(ofAll?.kind == .capacity && ofAll?.message.hasPrefix("The platform") == true)
        // Viewers have a separate quota from streams.
        let viewer = try limiter.reserve(.viewer, of: first, from: here)
        #expect(limiter.count(of: .stream) == 4 && limiter.count(of: .viewer) == 1)
        withExtendedLifetime((seats, viewer)) {}
    }

    @Test("a released place is free, and nothing is kept about its owner") func leaving() throws {
        let limiter = limiter([.sessions: 1])
        for number in 0..<1_000 {
            let address = IPAddress(v4: UInt32(number))
            let reservation = try limiter.reserve(.session, of: ApplicationID("app\(number)"), from: address)
            #expect(refusal(limiter, .session, first, here) != nil)
            withExtendedLifetime(reservation) {}
        }
        #expect(limiter.count(of: .session) == 0)
    }

    @Test("a usage counter keeps only present clients") func usage() throws {
        var usage = UsageCounter()
        let bounds = UsageCounter.Bounds(all: 10, application: 10, address: 10)
        for number in 0..<10 { try usage.enter(first, AddressBlock(IPAddress(v4: UInt32(number))), within: bounds) }
        #expect(usage.size == 11)
        for number in 0..<10 { usage.leave(first, AddressBlock(IPAddress(v4: UInt32(number)))) }
        #expect(usage.size == 0 && usage.count == 0)
    }

    @Test("a lower limit disconnects no client") func lowered() throws {
        let limiter = limiter([.viewers: 2])
        let seats = [
            try limiter.reserve(.viewer, of: first, from: here),
            try limiter.reserve(.viewer, of: first, from: here),
        ]
        var limits = PlatformLimits()
        limits[.viewers] = 1
        limiter.change(limits: limits)
        #expect(limiter.count(of: .viewer) == 2)
        #expect(refusal(limiter, .viewer, first, here)?.kind == .capacity)
        withExtendedLifetime(seats) {}
    }

    @Test("a closing platform rejects clients with the time to retry") func draining() throws {
        let limiter = limiter([:])
        limiter.drain()
        let refused = refusal(limiter, .stream, first, here)
        #expect(refused?.kind == .capacity && refused?.retryAfterText == "5")
    }

    @Test("only an address with too many requests is rate-limited, with a waiting time") func rates() throws {
        let limiter = limiter([.requestsPerSecond: 2])
        let now = Instant(nanoseconds: 0)
        for _ in 0..<10 { try limiter.takeRequest(from: here, at: now) }
        var refused: APIError?
        do throws(APIError) { try limiter.takeRequest(from: here, at: now) } catch { refused = error }
        #expect(refused?.kind == .rateLimited && refused?.status == .rateLimited && refused?.retryAfterText == "1")
        try limiter.takeRequest(from: there, at: now)
        try limiter.takeRequest(from: here, at: now + .milliseconds(500))
    }

    @Test("500 requests for metrics are allowed at once, and then 100 per second") func metrics() throws {
        let limiter = limiter([:])
        let now = Instant(nanoseconds: 0)
        for _ in 0..<500 { try limiter.takeMetrics(from: here, at: now) }
        #expect(throws: APIError.self) { try limiter.takeMetrics(from: here, at: now) }
        try limiter.takeMetrics(from: there, at: now)
        for _ in 0..<100 { try limiter.takeMetrics(from: here, at: now + .seconds(1)) }
        #expect(throws: APIError.self) { try limiter.takeMetrics(from: here, at: now + .seconds(1)) }
    }

    @Test("connections are limited for each address, but not for a proxy") func connections() {
        var limits = PlatformLimits()
        limits[.connectionsPerAddress] = 3
        limits[.connections] = 10
        let limiter = RequestLimiter(limits: limits, trustedProxies: [IPNetwork("10.0.0.0/8")!])
        let now = Instant(nanoseconds: 0)
        let admitted = (0..<5).filter { _ in limiter.admitConnection(from: here, at: now) }
        #expect(admitted.count == 3)
        let proxy = IPAddress("10.0.0.1")
        let admittedOfProxy = (0..<20).filter { _ in limiter.admitConnection(from: proxy, at: now) }
        #expect(admittedOfProxy.count == 7)
        limiter.connectionClosed(from: here)
        #expect(limiter.admitConnection(from: there, at: now))
        #expect(limiter.counts.count(.connections, .connectionsPerAddress, .connectionsPerSecond) == 15)
    }

    @Test("an address may have only half of its connections without a request") func silentConnections() {
        var limits = PlatformLimits()
        limits[.connectionsPerAddress] = 400
        limits[.connectionsPerSecond] = 10_000
        let limiter = RequestLimiter(limits: limits, trustedProxies: [IPNetwork("10.0.0.0/8")!])
        let now = Instant(nanoseconds: 0)
        func admitted(_ count: Int, from address: IPAddress?) -> Int {
            (0..<count).count { _ in limiter.admitConnection(from: address, at: now) }
        }
        #expect(admitted(300, from: here) == 200)
        #expect(admitted(1, from: there) == 1)
        for _ in 0..<150 { limiter.connectionStoppedWaiting(from: here) }
        #expect(admitted(300, from: here) == 150)
        for _ in 0..<200 { limiter.connectionStoppedWaiting(from: here) }
        // The limit of all connections of the address applies too, and a rejected connection does not count.
        #expect(admitted(300, from: here) == 50)
        limiter.connectionStoppedWaiting(from: here)
        limiter.connectionClosed(from: here)
        #expect(admitted(300, from: here) == 1)
        #expect(admitted(1_000, from: IPAddress("10.0.0.1")) == 1_000)
    }
}
