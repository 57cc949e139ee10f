import PCastCore
import PCastSFU
import PCastTestSupport
import Testing

@Suite("The frames and audio packets of a stream are read inside the platform")
struct PublishedUnitTests {
    /// A publisher of H.264 and Opus, and what was read of its stream.
    private struct Reading {
        let network = VirtualNetwork()
        let publisher: CallPeer
        var broadcast = Broadcast(.h264)
        private(set) var units: [PublishedUnit] = []

        init(loss: Int = 0) throws {
            network.link.loss = loss
            publisher = try network.publish()
            let publisher = publisher
            #expect(network.run { publisher.isConnected })
        }

        mutating func begin() -> [Int?: Codec] {
            network.sfu.beginReading(VirtualNetwork.stream, at: network.now)
        }

        mutating func end() { network.sfu.endReading(VirtualNetwork.stream, at: network.now) }

        mutating func send(_ count: Int) {
            for _ in 0..<count {
                broadcast.send(1, from: publisher, by: network)
                read()
            }
        }

        mutating func read() { network.sfu.readUnits(at: network.now) { units.append($0) } }

        /// The numbers of the frames of a track that were read.
        func numbers(layer: Int?) -> [Int?] {
            units.filter { $0.layer == layer }.map { unit in
                broadcast.number(
                    of: EncodedFrame(
                        codec: unit.codec, bytes: unit.bytes, isKeyFrame: unit.isKeyFrame,
                        timestamp: MediaTime(ticks: unit.timestamp, rate: unit.codec.clockRate), captureTime: nil))
            }
        }
    }

    @Test("a stream that is not read costs nothing, and one that is read gives each frame once and unchanged")
    func readsAll() throws {
        var reading = try Reading()
        #expect(reading.network.sfu.receivesVideo(VirtualNetwork.stream) == false)
        reading.send(20)
        #expect(reading.units.isEmpty)
        #expect(reading.begin() == [0: .h264, nil: .opus])
        #expect(reading.begin().isEmpty, "it is read already")
        reading.send(100)
        let video = reading.numbers(layer: 0)
        let audio = reading.numbers(layer: nil)
        #expect(video.count > 90 && audio.count > 95)
        #expect(reading.network.sfu.receivesVideo(VirtualNetwork.stream) == true)
        #expect(zip(video, video.dropFirst()).allSatisfy { $1 == $0.map { $0 + 1 } })
        #expect(zip(audio, audio.dropFirst()).allSatisfy { $1 == $0.map { $0 + 1 } })
        #expect(reading.units.first { $0.layer == 0 }?.isKeyFrame == true)
        reading.end()
        let count = reading.units.count
        reading.send(20)
        #expect(reading.units.count == count)
    }

    @Test("times are those of capture, also for a publisher whose clock is wrong")
    func captureTimes() throws {
        var reading = try Reading()
        _ = reading.begin()
        reading.send(150)
        for unit in reading.units.suffix(100) {
            let frame = EncodedFrame(
                codec: unit.codec, bytes: unit.bytes, isKeyFrame: unit.isKeyFrame,
                timestamp: MediaTime(ticks: unit.timestamp, rate: unit.codec.clockRate), captureTime: nil)
            let number = try #require(reading.broadcast.number(of: frame))
            let sent = VirtualNetwork.clock.wallTime(at: reading.broadcast.instants[number])
            // The SFU knows the publisher's clock except for the delay of its reports.
            #expect((unit.captureTime - sent).magnitude <= .milliseconds(25), "frame \(number)")
        }
    }

    @Test("reading keeps a publisher without viewers from being paused, and its end allows it")
    func demand() throws {
        var reading = try Reading()
        _ = reading.begin()
        reading.send(200)
        #expect(!reading.publisher.isPaused(.video) && !reading.publisher.isPaused(.audio))
        reading.end()
        reading.send(200)
        #expect(reading.publisher.isPaused(.video) && reading.publisher.isPaused(.audio))
    }

    @Test("behind a link with loss, each unit is complete, and video resumes with a key frame after a gap")
    func loss() throws {
        var reading = try Reading(loss: 5)
        _ = reading.begin()
        reading.send(500)
        let video = reading.numbers(layer: 0)
        #expect(video.count > 300 && video.allSatisfy { $0 != nil })
        let units = reading.units.filter { $0.layer == 0 }
        for (index, pair) in zip(video, video.dropFirst()).enumerated() where pair.1 != pair.0.map({ $0 + 1 }) {
            #expect(units[index + 1].isKeyFrame, "frame \(pair.1 ?? -1) after \(pair.0 ?? -1)")
        }
        #expect(reading.numbers(layer: nil).allSatisfy { $0 != nil })
    }

    @Test("units that arrive just before the end of a stream are delivered after it")
    func last() throws {
        var reading = try Reading()
        _ = reading.begin()
        reading.send(20)
        let count = reading.units.count
        reading.broadcast.send(3, from: reading.publisher, by: reading.network)
        reading.network.sfu.end(reading.publisher.id, reason: .ended, at: reading.network.now)
        reading.network.run(for: .milliseconds(500))
        reading.read()
        #expect(reading.units.count >= count + 3)
        let total = reading.units.count
        reading.read()
        #expect(reading.units.count == total)
    }

    @Test("a publisher that makes no key frame on request is read from its last one on")
    func lastKeyFrame() throws {
        var reading = try Reading()
        reading.send(20)
        #expect(reading.begin() == [0: .h264, nil: .opus])
        // Nothing follows: the units are those that the SFU has.
        reading.read()
        let video = reading.units.filter { $0.layer == 0 }
        #expect(video.first?.isKeyFrame == true && video.count > 1)
        #expect(reading.units.contains { $0.layer == nil })
    }

    @Test("a stream that has ended is not read any more")
    func ended() throws {
        var reading = try Reading()
        _ = reading.begin()
        reading.send(20)
        reading.network.sfu.end(reading.publisher.id, reason: .ended, at: reading.network.now)
        reading.network.run(for: .milliseconds(500))
        let count = reading.units.count
        reading.network.sfu.readUnits(at: reading.network.now) { _ in Issue.record("a unit of an ended stream") }
        reading.end()
        #expect(reading.begin().isEmpty)
        #expect(reading.units.count == count)
    }
}
