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

    @Test("clones of known pathways are added once, may be cloned themselves, and remain")
    mutating func clones() throws {
        let first = try request()
        let clones = [
            PathwayClone(base: "A", id: "D", host: "d.example"), PathwayClone(base: "D", id: "E", host: "e.example"),
            PathwayClone(base: "X", id: "F", host: "f.example"), PathwayClone(base: "A", id: "B", host: "b.example"),
        ]
        machine.handle(
            .loaded(
                id: first.id,
                SteeringManifest(timeToLive: .seconds(10 as Int64), priority: ["E", "F"], clones: clones),
                from: Self.server), at: Self.start)
        #expect(machine.clones == Array(clones[..<2]))
        #expect(machine.order == ["E", "A", "B", "C", "D"])
        machine.handle(.pathwayFailed("E"), at: Self.at(1))
        #expect(machine.order.first == "A" && machine.order.last == "E")
        machine.advance(to: Self.at(10))
        let second = try request()
        machine.handle(
            .loaded(id: second.id, SteeringManifest(priority: ["D"]), from: Self.server), at: Self.at(11))
        #expect(machine.order == ["D", "A", "B", "C", "E"] && machine.clones.count == 2)
    }

    @Test(
        "the URI of a clone has its host and parameters, or is the one of the manifest",
        arguments: [
            ("https://a.example/v/main.m3u8", nil, "https://c.example/v/main.m3u8?k=1&l=2"),
            ("https://u@a.example:8443/v.m3u8?x=1&k=0#f", nil, "https://c.example:8443/v.m3u8?x=1&k=1&l=2#f"),
            ("https://a.example/v.m3u8?k=0&x=1&k=2", nil, "https://c.example/v.m3u8?k=1&x=1&l=2"),
            ("https://[::1]/v.m3u8", "unknown", "https://c.example/v.m3u8?k=1&l=2"),
            ("https://a.example/v.m3u8", "v1", "https://own.example/v1.m3u8"),
        ] as [(String, String?, String)])
    func cloneURIs(_ uri: String, _ stableID: String?, _ expected: String) {
        let clone = PathwayClone(
            base: "A", id: "C", host: "c.example", parameters: ["l": "2", "k": "1"],
            variantURIs: ["v1": "https://own.example/v1.m3u8"])
        #expect(clone.uri(for: uri, .variant, stableID: stableID) == expected)
        #expect(!clone.uri(for: uri, .rendition, stableID: stableID).contains("own.example"))
        var other = clone
        (other.host, other.parameters) = ("c.example:9000", [:])
        #expect(other.uri(for: "http://a.example:80/v.m3u8", .variant, stableID: nil) == "http://c.example:9000/v.m3u8")
        other.host = nil
        #expect(other.uri(for: uri, .rendition, stableID: stableID) == uri)
    }

    @Test("a clone with parts that would change the structure of a URI is invalid")
    func invalidClones() {
        #expect(PathwayClone(base: "A", id: "B", host: "b.example:80", parameters: ["k": "a=b"]).isValid)
        #expect(!PathwayClone(base: "A", id: "A").isValid && !PathwayClone(base: "A", id: "").isValid)
        for host in ["", "b/c", "u@b", "b?c", "b#c", "b c", "b\r\nc"] {
            #expect(!PathwayClone(base: "A", id: "B", host: host).isValid, "\(host)")
        }
        for (name, value) in [("", "1"), ("a&b", "1"), ("a=b", "1"), ("a", "1&b=2"), ("a", "1#b"), ("a", "1 2")] {
            #expect(!PathwayClone(base: "A", id: "B", parameters: [name: value]).isValid, "\(name)=\(value)")
        }
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
