import PCastCore
import PCastSFU
import Testing

@testable import PCastPlatform

@Suite("The decisions about the links of a pulled stream")
struct PulledStreamTests {
    private static let stream = StreamID("stream")
    private static let start = Instant(nanoseconds: 1_000_000_000)
    private static let first = StreamOrigin(uri: "http://first", epoch: 1)
    private static let second = StreamOrigin(uri: "http://second", epoch: 1)

    /// A pulled stream on virtual time, whose links send media at each step.
    private final class Pull {
        var machine: PulledStream
        var now = PulledStreamTests.start
        var origins = [PulledStreamTests.first]
        var viewers = 1
        var ended: Set<StreamID> = []
        /// The streams whose media arrive.
        var sending: Set<StreamID> = [PulledStreamTests.stream]
        private var arrivals: [StreamID: SFU.StreamArrivals] = [:]

        init(closeAfter: TimeSpan = .seconds(10), mayAppear: Bool = true) {
            let link = PulledStream.Link(
                origin: PulledStreamTests.first, stream: PulledStreamTests.stream, nodes: ["n"],
                since: PulledStreamTests.start)
            machine = PulledStream(
                PulledStreamTests.stream, link: link, closeAfter: closeAfter, mayAppear: mayAppear)
        }

        /// Advances the time in steps of 50 ms. Returns the outputs.
        func run(_ span: TimeSpan) -> [PulledStream.Output] {
            var outputs: [PulledStream.Output] = []
            let end = now + span
            while now < end {
                now += .milliseconds(50)
                for stream in machine.links {
                    let last = sending.contains(stream) ? now : arrivals[stream]?.last
                    arrivals[stream] = SFU.StreamArrivals(last: last, isDecodable: last != nil)
                }
                outputs += machine.advance(to: now, arrivals, ended: ended, viewers: viewers, origins: origins)
            }
            return outputs
        }

        /// Connects the origin that the machine requests.
        func connect(_ name: String) -> PulledStream.Link? {
            guard let origin = machine.connecting else { return nil }
            let link = PulledStream.Link(origin: origin, stream: StreamID(name), nodes: ["m"], since: now)
            return machine.connected(link) ? link : nil
        }
    }

    @Test("a silent link with viewers is replaced when another origin has media, and not before")
    func silence() throws {
        let pull = Pull()
        #expect(pull.run(.seconds(5)).isEmpty)
        pull.sending = []
        #expect(pull.run(.seconds(2)).isEmpty, "there is no other origin")
        pull.origins = [Self.first, Self.second]
        #expect(pull.run(.milliseconds(50)) == [.connect(Self.second)])
        let link = pull.connect("link")
        let connected = try #require(link)
        #expect(pull.run(.milliseconds(500)).isEmpty)
        pull.sending = [connected.stream]
        #expect(pull.run(.milliseconds(50)) == [.select(connected)])
        #expect(pull.machine.current == connected)
        #expect(pull.run(.seconds(4)).isEmpty, "the new link is used")
    }

    @Test("silence is noticed after 300 to 500 ms, and without viewers it is none")
    func time() {
        let pull = Pull()
        pull.origins = [Self.first, Self.second]
        _ = pull.run(.seconds(1))
        pull.sending = []
        #expect(pull.run(.milliseconds(250)).isEmpty)
        #expect(pull.run(.milliseconds(150)) == [.connect(Self.second)])
        let unwatched = Pull()
        unwatched.origins = [Self.first, Self.second]
        (unwatched.viewers, unwatched.sending) = (0, [])
        #expect(unwatched.run(.seconds(9)).isEmpty)
        // The media begin when the first viewer has connected.
        unwatched.viewers = 1
        #expect(unwatched.run(.milliseconds(2_900)).isEmpty)
        #expect(unwatched.run(.milliseconds(200)) == [.connect(Self.second)])
    }

    @Test("a link whose media return before the other one has any stays")
    func returned() throws {
        let pull = Pull()
        pull.origins = [Self.first, Self.second]
        _ = pull.run(.seconds(1))
        pull.sending = []
        #expect(pull.run(.milliseconds(350)) == [.connect(Self.second)])
        let link = pull.connect("link")
        let connected = try #require(link)
        pull.sending = [Self.stream]
        #expect(pull.run(.milliseconds(50)) == [.close(connected.stream)])
        #expect(pull.machine.current.stream == Self.stream)
    }

    @Test("the publication of this node continues a silent link, and its claim keeps the link")
    func own() throws {
        let pull = Pull()
        var own = StreamOrigin(uri: "http://own", epoch: 1)
        own.isThisNode = true
        pull.origins = [Self.first, own]
        #expect(pull.run(.seconds(10)).isEmpty, "it stands by")
        pull.sending = []
        #expect(pull.run(.milliseconds(350)) == [.connect(own)])
        let link = pull.connect("link")
        let connected = try #require(link)
        pull.sending = [connected.stream]
        #expect(pull.run(.milliseconds(50)) == [.select(connected)])
        // The lease of the first origin expires, and this node claims the name.
        own.epoch = 2
        pull.origins = [own]
        #expect(pull.run(.seconds(10)).isEmpty)
        #expect(pull.machine.current.origin == own)
        // Its publication ends, and another node has the name.
        pull.ended = [connected.stream]
        pull.origins = [StreamOrigin(uri: "http://second", epoch: 3)]
        #expect(pull.run(.milliseconds(50)) == [.connect(pull.origins[0])])
    }

    @Test("a link to a publication that stands by is replaced by one to the current origin when that has media")
    func returning() throws {
        let pull = Pull()
        pull.origins = [Self.first, Self.second]
        _ = pull.run(.seconds(1))
        pull.sending = []
        #expect(pull.run(.milliseconds(350)) == [.connect(Self.second)])
        let link = pull.connect("link")
        let connected = try #require(link)
        pull.sending = [connected.stream]
        #expect(pull.run(.milliseconds(50)) == [.select(connected)])
        #expect(pull.run(.milliseconds(4_900)).isEmpty)
        #expect(pull.run(.milliseconds(200)) == [.connect(Self.first)])
        pull.machine.failed(Self.first, at: pull.now)
        #expect(pull.run(.milliseconds(4_900)).isEmpty)
        #expect(pull.run(.milliseconds(200)) == [.connect(Self.first)])
        let returned = pull.connect("returned")
        let next = try #require(returned)
        #expect(pull.run(.seconds(1)).isEmpty, "it has no media yet")
        pull.sending = [connected.stream, next.stream]
        #expect(pull.run(.milliseconds(50)) == [.select(next), .close(connected.stream)])
        #expect(pull.run(.seconds(10)).isEmpty)
    }

    @Test("a publication that stands by does not keep its link when another node claims the name")
    func claimed() throws {
        let pull = Pull()
        let (third, claim) = (StreamOrigin(uri: "http://third", epoch: 1), StreamOrigin(uri: "http://third", epoch: 2))
        pull.origins = [Self.first, Self.second, third]
        _ = pull.run(.seconds(1))
        pull.sending = []
        #expect(pull.run(.milliseconds(350)) == [.connect(Self.second)])
        let link = pull.connect("link")
        let connected = try #require(link)
        pull.sending = [connected.stream]
        #expect(pull.run(.milliseconds(50)) == [.select(connected)])
        pull.origins = [claim, StreamOrigin(uri: Self.second.uri, epoch: 2)]
        #expect(pull.run(.milliseconds(50)) == [.connect(claim)])
        // The higher one of two claims with the same number replaces the other.
        var (lower, higher) = (claim, StreamOrigin(uri: Self.second.uri, epoch: 2))
        (lower.claim, higher.claim) = (1, 2)
        #expect(higher.publicationEpoch > lower.publicationEpoch)
    }

    @Test("an origin with a higher epoch replaces a link that has media; one with a lower epoch is not used")
    func epochs() throws {
        let pull = Pull()
        let newer = StreamOrigin(uri: "http://second", epoch: 2)
        pull.origins = [Self.first, newer]
        #expect(pull.run(.milliseconds(50)) == [.connect(newer)])
        let link = pull.connect("link")
        let connected = try #require(link)
        pull.sending = [Self.stream, connected.stream]
        #expect(pull.run(.milliseconds(50)) == [.select(connected)])
        pull.sending = []
        #expect(pull.run(.seconds(1)).isEmpty, "the first origin has a lower epoch")
        // The node of the link has claimed the name again.
        pull.origins = [StreamOrigin(uri: "http://second", epoch: 3)]
        pull.sending = [connected.stream]
        #expect(pull.run(.seconds(1)).isEmpty)
        #expect(pull.machine.current.origin.epoch == 3)
    }

    @Test("a stream whose link has ended waits for another origin for three seconds, and a replaced link closes")
    func lost() throws {
        let pull = Pull()
        pull.origins = []
        pull.machine.linkLost(.ended, at: pull.now)
        #expect(pull.run(.milliseconds(2_900)).isEmpty)
        #expect(pull.run(.milliseconds(200)) == [.end(.ended)])
        #expect(pull.run(.seconds(1)).isEmpty)

        let continued = Pull()
        continued.origins = []
        continued.machine.linkLost(.failed, at: continued.now)
        #expect(continued.run(.seconds(2)).isEmpty)
        continued.origins = [Self.second]
        #expect(continued.run(.milliseconds(50)) == [.connect(Self.second)])
        let link = continued.connect("link")
        let connected = try #require(link)
        continued.sending = [connected.stream]
        #expect(continued.run(.milliseconds(50)) == [.select(connected)])
        continued.ended = [connected.stream]
        continued.origins = [Self.first]
        #expect(continued.run(.milliseconds(50)) == [.connect(Self.first)])
        let third = continued.connect("third")
        let next = try #require(third)
        (continued.sending, continued.ended) = ([next.stream], [])
        #expect(continued.run(.milliseconds(50)) == [.select(next), .close(connected.stream)])
    }

    @Test("without a directory, the stream ends as soon as no origin has it")
    func fixed() {
        let pull = Pull(mayAppear: false)
        pull.machine.linkLost(.ended, at: pull.now)
        #expect(pull.run(.milliseconds(50)) == [.connect(Self.first)])
        pull.machine.failed(Self.first, at: pull.now)
        #expect(pull.run(.milliseconds(50)) == [.end(.ended)])
    }

    @Test("an origin that fails or sends nothing is tried again later")
    func failures() throws {
        let pull = Pull()
        pull.origins = [Self.first, Self.second]
        _ = pull.run(.seconds(1))
        pull.sending = []
        #expect(pull.run(.milliseconds(350)) == [.connect(Self.second)])
        pull.machine.failed(Self.second, at: pull.now)
        #expect(pull.run(.milliseconds(200)).isEmpty)
        #expect(pull.run(.milliseconds(100)) == [.connect(Self.second)])
        let link = pull.connect("link")
        let connected = try #require(link)
        #expect(pull.run(.milliseconds(3_050)) == [.close(connected.stream)])
        #expect(pull.run(.seconds(4)).isEmpty)
        #expect(pull.run(.seconds(2)) == [.connect(Self.second)])
    }

    @Test("a stream without viewers is released")
    func release() {
        let pull = Pull(closeAfter: .seconds(2))
        #expect(pull.run(.seconds(5)).isEmpty)
        pull.viewers = 0
        #expect(pull.run(.milliseconds(1_900)).isEmpty)
        #expect(pull.run(.milliseconds(200)) == [.release])
    }
}
