import PCastCore
import Testing

@testable import PCastPlatform

/// The life cycle of a platform: the addresses on which it listens, and what remains.
@Suite struct LifeTests {
    @Test("200 concurrent joins and leaves leave no stream, viewer or resource") func joinsAndLeaves() async throws {
        try await TestPlatform.run { platform in
            let (stream, publisher) = try await platform.publish()
            let resources = try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        let isPublisher = number % 4 == 0
                        let offer = isPublisher ? try Offers.publisher() : try Offers.viewer()
                        let answer = try await platform.post(isPublisher ? "/whip" : "/whep/\(stream)", offer)
                        #expect(answer.status == 201)
                        let location = try #require(answer.header("Location"))
                        #expect(try await platform.send("DELETE", location).status == 200)
                        return location
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(resources).count == 200)
            #expect(try await platform.reaches("pcast_viewers", 0))
            #expect(try await platform.reaches("pcast_streams", 1))
            #expect(try await platform.send("DELETE", publisher).status == 200)
            #expect(try await platform.reaches("pcast_streams", 0))
            for resource in resources { #expect(try await platform.send("DELETE", resource).status == 404) }
        }
    }

    @Test("the end of a stream ends all its viewers") func endOfAStream() async throws {
        try await TestPlatform.run { platform in
            let (stream, publisher) = try await platform.publish()
            for _ in 0..<20 { #expect(try await platform.post("/whep/\(stream)", try Offers.viewer()).status == 201) }
            #expect(try await platform.figure("pcast_viewers") == 20)
            #expect(try await platform.send("DELETE", publisher).status == 200)
            #expect(try await platform.reaches("pcast_viewers", 0))
        }
    }

    @Test("a port in use is an error with advice") func portInUse() async throws {
        try await TestPlatform.run { platform in
            let port = try #require(platform.listening.uri.split(separator: ":").last.flatMap { Int($0) })
            let error = await #expect(throws: PlatformError.self) {
                try await Platform(PlatformConfiguration(port: port, rtcPort: 0)).run { _ in }
            }
            let text = "\(try #require(error))"
            #expect(text.contains("another program listens on 127.0.0.1:\(port)") && text.contains("(--listen)"))
            let secure = await #expect(throws: PlatformError.self) {
                try await Platform(PlatformConfiguration(port: 0, rtcPort: 0, tlsPort: port)).run { _ in }
            }
            let secureText = "\(try #require(secure))"
            #expect(secureText.contains("on 127.0.0.1:\(port)") && secureText.contains("(--tls-port)"))
            let media = await #expect(throws: PlatformError.self) {
                let configuration = PlatformConfiguration(port: 0, rtcPort: platform.listening.rtcPort)
                try await Platform(configuration).run { _ in }
            }
            #expect("\(try #require(media))".hasPrefix("the media port could not be opened: "))
            #expect(try await platform.send("GET", "/healthz").status == 200)
        }
    }

    @Test("a host that is not an address is an error", arguments: ["nonsense", "", "300.1.1.1", "[::1"])
    func invalidHost(host: String) async throws {
        let error = await #expect(throws: PlatformError.self) {
            try await Platform(PlatformConfiguration(host: host, port: 0, rtcPort: 0)).run { _ in }
        }
        #expect("\(try #require(error))".contains("is not an address to listen on"))
    }

    @Test("IPv6 works, and its links have brackets", arguments: ["::1", "[::1]"]) func ipv6(host: String) async throws {
        try await TestPlatform.run(host: host) { platform in
            #expect(platform.listening.uri.hasPrefix("http://[::1]:"))
            #expect(platform.listening.allowsAnonymousLoopback)
            #expect(platform.listening.advertised.map(\.ip) == [IPAddress("::1")])
            let answer = try await platform.post("/whip", try Offers.publisher())
            #expect(answer.status == 201)
            #expect(answer.body.contains(" ::1 \(platform.listening.rtcPort) typ host"))
            try await ProtocolClient.run(platform) { client async throws in
                #expect(try await client.authenticate() != nil)
            }
        }
    }

    @Test("localhost is one address for HTTP and media") func localhost() async throws {
        try await TestPlatform.run(host: "localhost") { platform async throws in
            #expect(platform.listening.uri.hasPrefix("http://localhost:"))
            #expect(platform.listening.advertised.map(\.ip) == [.loopbackV4])
            #expect(try await platform.send("GET", "/healthz").status == 200)
        }
    }

    @Test("links contain a reachable address if the platform listens on all") func printedHost() async throws {
        try await TestPlatform.run(host: "0.0.0.0") { platform in
            let first = try #require(platform.listening.advertised.first?.ip)
            #expect(!platform.listening.uri.contains("0.0.0.0"))
            #expect(platform.listening.uri.hasPrefix("http://\(first):"))
        }
        let public6 = try #require(IPAddress("2001:db8::5"))
        try await TestPlatform.run(host: "0.0.0.0", advertise: [public6]) { platform async throws in
            #expect(platform.listening.uri.hasPrefix("http://[2001:db8::5]:"))
        }
    }

    @Test("the platform stops when its task is cancelled, also with a connected client", .timeLimit(.minutes(5)))
    func stops() async throws {
        let listening = AsyncStream<PlatformListening>.makeStream()
        let configuration = PlatformConfiguration(port: 0, rtcPort: 0)
        let subject = Platform(configuration)
        let task = Task { try await subject.run { listening.continuation.yield($0) } }
        let place = try #require(await listening.stream.first { _ in true })
        let platform = TestPlatform(
            listening: place, platform: subject, configuration: configuration, task: task)
        try? await ProtocolClient.run(platform) { client in
            _ = try await client.authenticate()
            task.cancel()
            #expect(try await client.closes())
        }
        _ = await task.result
    }
}
