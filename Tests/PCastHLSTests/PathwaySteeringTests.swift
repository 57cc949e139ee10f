import PCastCore
import PCastHLS
import Testing

@Suite("The selection of a pathway")
struct PathwaySteeringTests {
    private static let start = Instant(nanoseconds: 7_000_000_000)
    private static let server = "https://steer.example/manifest?key=1&_HLS_pathway=old#there"

    private var machine = PathwaySteering(
        server: server, initial: "B", pathways: ["A", "B", "C", "A", "B"], at: start)

    private static func at(_ seconds: Double) -> Instant { start + TimeSpan(seconds: seconds) }

    private mutating func request() throws -> PathwaySteering.Request {
        guard case .load(let request)? = machine.poll() else {
            throw Unasked()
        }
        return request
    }

    private struct Unasked: Error {}

    @Test("the playlist's pathway is first, then the server's order, which is reloaded when it expires")
    mutating func order() throws {
        #expect(machine.order == ["B", "A", "C"])
        let first = try request()
        #expect(first.uri == "https://steer.example/manifest?key=1&_HLS_pathway=B")
        #expect(machine.poll() == nil && machine.deadline == nil)
        // Unknown pathways are ignored, and missing ones come last.
        let manifest = SteeringManifest(
            timeToLive: .seconds(10 as Int64), reloadURI: "../next", priority: ["X", "C", "C", "A"])
        machine.handle(.loaded(id: first.id, manifest, from: "https://other.example/a/b/manifest"), at: Self.at(1))
        #expect(machine.order == ["C", "A", "B"] && machine.deadline == Self.at(11))
        machine.handle(.measured(.kilobits(5_000)), at: Self.at(2))
        machine.advance(to: Self.at(10.9))
        #expect(machine.poll() == nil)
        machine.advance(to: Self.at(11))
        let second = try request()
        #expect(second.uri == "https://other.example/a/next?_HLS_pathway=C&_HLS_throughput=5000000")
        // A late answer to the first request is ignored.
        machine.handle(.loaded(id: first.id, SteeringManifest(priority: ["A"]), from: "x"), at: Self.at(12))
        #expect(machine.order.first == "C" && machine.deadline == nil)
    }

    @Test("a failed pathway is avoided for a minute; if all failed, the first is tried first")
    mutating func penalties() throws {
        let request = try request()
        machine.handle(
            .loaded(id: request.id, SteeringManifest(priority: ["A", "B", "C"]), from: Self.server), at: Self.start)
        machine.handle(.pathwayFailed("A"), at: Self.at(1))
        #expect(machine.order == ["B", "C", "A"])
        machine.handle(.pathwayFailed("nobody"), at: Self.at(1))
        machine.handle(.pathwayFailed("B"), at: Self.at(2))
        machine.handle(.pathwayFailed("C"), at: Self.at(3))
        #expect(machine.order == ["A", "B", "C"])
        machine.handle(.pathwayFailed("A"), at: Self.at(4))
        #expect(machine.order == ["B", "C", "A"] && machine.deadline == Self.at(62))
        machine.advance(to: Self.at(62))
        #expect(machine.order == ["B", "C", "A"] && machine.deadline == Self.at(63))
        machine.advance(to: Self.at(64))
        #expect(machine.order == ["A", "B", "C"] && machine.deadline == Self.at(300))
    }

    @Test("a failed server is requested again after its time, its own delay, or never")
    mutating func failures() throws {
        let first = try request()
        machine.handle(.failed(id: first.id, .unreachable), at: Self.at(1))
        #expect(machine.deadline == Self.at(301))
        machine.advance(to: Self.at(301))
        let second = try request()
        machine.handle(
            .failed(id: second.id, .status(429, retryAfter: .seconds(7 as Int64))), at: Self.at(302))
        #expect(machine.deadline == Self.at(309))
        machine.advance(to: Self.at(309))
        let third = try request()
        // Requests have a minimum interval.
        machine.handle(
            .loaded(id: third.id, SteeringManifest(timeToLive: .zero, priority: []), from: "x"), at: Self.at(310))
        #expect(machine.deadline == Self.at(311) && machine.order == ["A", "B", "C"])
        machine.advance(to: Self.at(311))
        let last = try request()
        machine.handle(.failed(id: last.id, .status(410)), at: Self.at(312))
        #expect(machine.deadline == nil && machine.poll() == nil)
    }
}
