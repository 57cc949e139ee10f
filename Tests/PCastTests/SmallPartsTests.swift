import PCastCore
import PCastEdgeAuth
import PCastSignaling
import Testing

@testable import PCast

@Suite struct SmallPartsTests {
    @Test("the address of a playlist is found in a session description without media, and not in one with media")
    func playlistAddress() {
        let head = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n"
        let uri = "https://media.example/video/stream-a/1-ab/index.m3u8"
        #expect(StreamSetup.playlist(in: head + "a=x-playlist:\(uri)\r\n") == uri)
        #expect(StreamSetup.playlist(in: head + "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=sendonly\r\n") == nil)
        #expect(StreamSetup.playlist(in: "") == nil)
    }

    @Test("an answer with a playlist is not one with media")
    func playlistAnswer() throws {
        let uri = "https://media.example/video/stream-a/1-ab/index.m3u8"
        var setup = PCastSetupStreamResponse()
        setup.status = "ok"
        setup.createStreamResponse.status = "ok"
        setup.createStreamResponse.streamID = "view-1"
        setup.createStreamResponse.createAnswerDescriptionResponse.status = "ok"
        let answers: [(String, String?)] = [
            ("v=0\r\na=x-playlist:\(uri)\r\n", uri), ("v=0\r\nm=audio 9 UDP 0\r\n", nil),
        ]
        for (text, playlist) in answers {
            setup.createStreamResponse.createAnswerDescriptionResponse.sessionDescription.type = .answer
            setup.createStreamResponse.createAnswerDescriptionResponse.sessionDescription.sdp = text
            let (id, answer) = try StreamSetup.read(.setupStream(setup))
            #expect(id == StreamID("view-1") && answer.playlist == playlist)
        }
    }

    @Test("a response describes the window of a stream, whose address receives the token if it asks for it")
    func timeShiftOffer() throws {
        let uri = "https://media.example/video/stream-a/1-ab/index.m3u8"
        var setup = PCastSetupStreamResponse()
        setup.createStreamResponse.options = [
            "ignored-capability=a", "time-shift=\(uri)", "time-shift-start=1000000", "time-shift-duration=600000",
        ]
        let offer = try #require(TimeShiftOffer(.setupStream(setup), token: "DIGEST:a+b"))
        #expect(offer.uri == uri)
        let time = { (milliseconds: Int64) in WallTime(millisecondsSinceEpoch: milliseconds) }
        #expect(offer.window(until: time(1_100_000)) == time(1_000_000)...time(1_100_000))
        #expect(offer.window(until: time(3_000_000)) == time(2_400_000)...time(3_000_000))
        #expect(offer.window(until: time(999_999)) == nil)
        setup.createStreamResponse.options = ["time-shift=\(uri)?token="]
        let early = try #require(TimeShiftOffer(.setupStream(setup), token: "DIGEST:a+b/Z\n"))
        #expect(early.uri == uri + "?token=DIGEST%3Aa%2Bb%2FZ%0A")
        #expect(early.window(until: time(1_000_000)) == nil)
        #expect(TimeShiftOffer(.setupStream(setup), token: "")?.uri == uri)
        setup.createStreamResponse.options = [
            "time-shift=\(uri)", "time-shift-start=99999999999999999", "time-shift-duration=\(UInt64.max)",
        ]
        let hostile = try #require(TimeShiftOffer(.setupStream(setup), token: ""))
        #expect(hostile.start == nil && hostile.duration == nil)
        setup.createStreamResponse.options = ["time-shift-start=1"]
        #expect(TimeShiftOffer(.setupStream(setup), token: "") == nil)
    }

    @Test("the address is that of the option, or else that of the token")
    func platformAddress() throws {
        let token = try EdgeTokenBuilder().withApplicationId("app").withSecret("secret")
            .withUri("https://edge.example:8443/").expiresAt(milliseconds: 1_000).build()
        let fromToken = try PlatformAddress(option: nil, token: token)
        #expect(fromToken.webSocket == "https://edge.example:8443/ws")
        #expect(fromToken.host == "edge.example")
        #expect(!fromToken.isLoopback)
        let fromOption = try PlatformAddress(option: "http://127.0.0.1:8080", token: token)
        #expect(fromOption.webSocket == "http://127.0.0.1:8080/ws")
        #expect(fromOption.isLoopback)
    }

    @Test("an invalid address is a bad request", arguments: [nil, "nowhere", "ftp://host"])
    func invalidAddress(option: String?) {
        #expect {
            try PlatformAddress(option: option, token: "no token")
        } throws: { ($0 as? PCastError)?.status == .badRequest }
    }

    @Test("the bit rate ladder has a bit rate for each frame height")
    func bitrateLadder() {
        let rate = { (width: Int, height: Int) in
            BitrateLadder.bitrate(for: Dimensions(width: width, height: height)).bitsPerSecond
        }
        #expect(rate(1_280, 720) == 1_600_000)
        #expect(rate(720, 1_280) == 1_600_000)
        #expect(rate(1_920, 1_080) == 3_000_000)
        #expect(rate(3_840, 2_160) == 3_000_000)
        #expect(rate(160, 90) == 192_000)
    }

    @Test("the lowest limit applies until it is released")
    func lowestLimit() {
        let limits = BandwidthLimits()
        var low: BandwidthLimit? = limits.add(.kilobits(300))
        let high = limits.add(.kilobits(900))
        #expect(limits.apply(to: .kilobits(1_600)) == .kilobits(300))
        low = nil
        #expect(low == nil)
        #expect(limits.apply(to: .kilobits(1_600)) == .kilobits(900))
        #expect(limits.apply(to: .kilobits(500)) == .kilobits(500))
        #expect(high.bitrate == .kilobits(900))
    }

    @Test("a rate is measured between readings with a minimum distance")
    func rateInterval() {
        var meter = RateMeter()
        let start = Instant(nanoseconds: 0)
        meter.read(bytes: 1_000, at: start)
        #expect(meter.bitsPerSecond == 0)
        meter.read(bytes: 2_000, at: start + .milliseconds(100))
        #expect(meter.bitsPerSecond == 0)
        meter.read(bytes: 126_000, at: start + .seconds(1))
        #expect(meter.bitsPerSecond == 1_000_000)
    }

    @Test("the encode time is the mean of the last 30 frames")
    func meanEncodeTime() {
        var meter = EncodingMeter()
        #expect(meter.encodeTime == nil)
        for _ in 0..<10 { meter.encoded(in: .milliseconds(100)) }
        for _ in 0..<30 { meter.encoded(in: .milliseconds(4)) }
        #expect(meter.encodeTime == .milliseconds(4))
        #expect(meter.framesEncoded == 40)
    }

    @Test("every error states what to do")
    func errorAdvice() {
        #expect(PCastError.notStarted("publish").description == "publish needs a session: call start first")
        let refusal = PCastError(refusal: "capacity", of: "SetupStream")
        #expect(refusal.status == .capacity)
        #expect(refusal.description.contains("retry later"))
        for text in ["bad-request", "failed"] {
            let silent = PCastError(refusal: text, of: "SetupStream")
            #expect(silent.description.contains("the platform's log"))
            let received = PCastError(refusal: text, of: "SetupStream", because: "The URI is rejected: it is none.")
            #expect(received.description.hasSuffix("with “\(text)”: The URI is rejected: it is none"))
        }
    }

    @Test("a promise is resolved once")
    func promiseResolvesOnce() async {
        let once = Promise<Int>()
        async let waiting = once.settled
        once.resolve(1)
        once.resolve(2)
        #expect(await waiting == 1)
        #expect(once.value == 1)
    }

    @Test("every listener receives all values until the end")
    func allListeners() async {
        let broadcast = EventBroadcaster<Int>()
        let first = broadcast.listen()
        broadcast.send(1)
        let second = broadcast.listen()
        broadcast.send(2)
        broadcast.finish()
        broadcast.send(3)
        var heard: [[Int]] = []
        for stream in [first, second, broadcast.listen()] {
            var numbers: [Int] = []
            for await number in stream { numbers.append(number) }
            heard.append(numbers)
        }
        #expect(heard == [[1, 2], [2], []])
    }
}
