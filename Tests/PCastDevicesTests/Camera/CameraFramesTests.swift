import PCastCodecs
import PCastCore
import Testing

@testable import PCastDevices

@Suite("Frames from a camera's bytes")
struct CameraFramesTests {
    private static let size = Dimensions(width: 64, height: 48)
    private static let time = WallTime(millisecondsSinceEpoch: 1_700_000_000_000)

    private static func format(_ code: FourCC, _ size: Dimensions = CameraFramesTests.size) -> NegotiatedFormat {
        NegotiatedFormat(code: code, dimensions: size, stride: 0, isFullRange: code.isJPEG, frameRate: FrameRate(30))
    }

    private static func read(
        _ decodedFrames: CapturedFrames, _ bytes: [UInt8], _ index: Int = 0, isBroken: Bool = false
    ) throws -> [VideoSample] {
        let timestamp = MediaTime(ticks: Int64(index) * 3_000, rate: .video)
        return try bytes.withUnsafeBytes { bytes in
            try decodedFrames.samples(of: bytes, isBroken: isBroken, captureTime: time, timestamp: timestamp)
        }
    }

    private static func grey(_ luma: UInt8, _ size: Dimensions = CameraFramesTests.size, index: Int = 0) -> VideoFrame {
        let frame = VideoFramePool().frame(
            dimensions: size, captureTime: time, timestamp: MediaTime(ticks: Int64(index) * 3_000, rate: .video))
        frame.planeY.update(repeating: luma, count: frame.strideY * size.height)
        frame.planeU.update(repeating: 128, count: frame.strideUV * size.height)
        return frame
    }

    /// Returns encoded frames of a changing gray, with key frames at the given indices.
    private static func coded(_ count: Int, keys: Set<Int>) throws -> [EncodedFrame] {
        let encoder = try X264Encoder(dimensions: size, frameRate: 30, bitrate: Bitrate(bitsPerSecond: 500_000))
        return try (0..<count).flatMap { index in
            try encoder.encode(grey(UInt8(40 + index * 5), index: index), forceKeyFrame: keys.contains(index))
        }
    }

    @Test("raw bytes become a frame; too few are damage, and the next frame is complete again")
    func raw() throws {
        let decodedFrames = try CapturedFrames(Self.format(FourCC("GREY")), passesThrough: false)
        let whole = [UInt8](repeating: 99, count: 64 * 48)
        #expect(throws: CodecError.self) { try Self.read(decodedFrames, Array(whole.dropLast())) }
        guard case .frame(let frame) = try Self.read(decodedFrames, whole, 1)[0] else { return #expect(Bool(false)) }
        #expect(frame.planeY[0] == 99 && frame.dimensions == Self.size && frame.timestamp.ticks == 3_000)
        #expect(frame.captureTime == Self.time && decodedFrames.areIndependent && decodedFrames.areDecoded)
    }

    @Test("JPEG of an unexpected size is accepted when it is repeated")
    func otherSize() throws {
        let decodedFrames = try CapturedFrames(Self.format(FourCC("MJPG")), passesThrough: false)
        let agreed = try StillImage.encode(Self.grey(100), as: .jpeg)
        let larger = Dimensions(width: 128, height: 64)
        let other = try StillImage.encode(Self.grey(100, larger), as: .jpeg)
        #expect(try Self.read(decodedFrames, agreed).count == 1)
        #expect(throws: CodecError.self) { try Self.read(decodedFrames, other) }
        #expect(try Self.read(decodedFrames, agreed).count == 1 && decodedFrames.dimensions == Self.size)
        #expect(throws: CodecError.self) { try Self.read(decodedFrames, other) }
        guard case .frame(let frame) = try Self.read(decodedFrames, other)[0] else { return #expect(Bool(false)) }
        #expect(frame.dimensions == larger && decodedFrames.dimensions == larger)
        #expect(throws: CodecError.self) { try Self.read(decodedFrames, [1, 2, 3]) }
    }

    @Test("H.264 is decoded from a key frame on")
    func decoded() throws {
        let decodedFrames = try CapturedFrames(Self.format(FourCC("H264")), passesThrough: false)
        #expect(!decodedFrames.areIndependent && decodedFrames.areDecoded)
        let frames = try Self.coded(6, keys: [3])
        #expect(try Self.read(decodedFrames, frames[1].bytes, 1).isEmpty)
        for index in 3..<6 {
            guard case .frame(let frame) = try Self.read(decodedFrames, frames[index].bytes, index)[0] else {
                return #expect(Bool(false))
            }
            #expect(abs(Int(frame.planeY[100]) - (40 + index * 5)) <= 4 && frame.dimensions == Self.size)
        }
    }

    @Test("H.264 that is passed through resumes with a key frame after a missing frame")
    func missing() throws {
        let decodedFrames = try CapturedFrames(Self.format(FourCC("H264")), passesThrough: true)
        #expect(!decodedFrames.areDecoded)
        let frames = try Self.coded(8, keys: [5])
        let delivered = try frames.enumerated().filter { index, _ in index != 2 }.flatMap { index, frame in
            // Damage is reported until a frame is delivered again, as by the camera's thread.
            try Self.read(decodedFrames, frame.bytes, index, isBroken: index == 3 || index == 4)
        }
        let ticks = delivered.map { sample -> Int64 in
            guard case .coded(let frame) = sample else { return -1 }
            return frame.timestamp.ticks / 3_000
        }
        #expect(ticks == [0, 1, 5, 6, 7])
    }

    @Test("parameter sets in a separate buffer are inserted before key frames")
    func apart() throws {
        let decodedFrames = try CapturedFrames(Self.format(FourCC("H264")), passesThrough: true)
        let key = try Self.coded(1, keys: [0])[0].bytes
        let units = Self.units(key)
        func joined(_ isSet: Bool) -> [UInt8] {
            units.filter { [7, 8].contains($0[0] & 0x1F) == isSet }.flatMap { unit -> [UInt8] in [0, 0, 0, 1] + unit }
        }
        let (sets, rest) = (joined(true), joined(false))
        #expect(try Self.read(decodedFrames, sets).isEmpty)
        guard case .coded(let frame) = try Self.read(decodedFrames, rest)[0] else { return #expect(Bool(false)) }
        let unit = H264AccessUnit(frame.bytes)
        #expect(unit.hasSequenceParameterSet && unit.hasPictureParameterSet && frame.isKeyFrame)
    }

    private static func units(_ bytes: [UInt8]) -> [[UInt8]] {
        var units: [[UInt8]] = []
        var index = 0
        while index + 2 < bytes.count {
            if bytes[index...(index + 2)] == [0, 0, 1] {
                if !units.isEmpty, units[units.count - 1].last == 0 { units[units.count - 1].removeLast() }
                units.append([])
                index += 3
            } else {
                if !units.isEmpty { units[units.count - 1].append(bytes[index]) }
                index += 1
            }
        }
        units[units.count - 1] += bytes[index...]
        return units
    }

    @Test("without an encoding, the nearest size is chosen, then the nearest rate, then the lowest cost")
    func choice() {
        func format(_ encoding: CaptureEncoding, _ width: Int, _ height: Int, _ rates: Int...) -> CaptureFormat {
            CaptureFormat(
                encoding: encoding, sizes: .discrete(Dimensions(width: width, height: height)),
                rates: .discrete(rates.map { FrameRate($0) }))
        }
        // A webcam of USB 2.0 has a low rate for raw frames of that size.
        let webcam = [
            format(.yuyv, 640, 480, 30), format(.yuyv, 1_280, 720, 10), format(.mjpeg, 1_280, 720, 30, 15),
            format(.h264, 1_280, 720, 30), format(.other("BGGR"), 1_280, 720, 30),
        ]
        func best(_ width: Int, _ height: Int, _ rate: Int, _ formats: [CaptureFormat]) -> CaptureEncoding? {
            EncodingChoice(
                VideoConfiguration(dimensions: Dimensions(width: width, height: height), frameRate: FrameRate(rate))
            ).best(of: formats)
        }
        #expect(best(1_280, 720, 30, webcam) == .mjpeg && best(640, 480, 30, webcam) == .yuyv)
        #expect(best(1_280, 720, 10, webcam) == .yuyv && best(1_280, 720, 30, Array(webcam.suffix(2))) == .h264)
        #expect(best(640, 480, 30, [webcam[4]]) == nil && best(640, 480, 30, []) == nil)
        let range = CaptureFormat(
            encoding: .nv12,
            sizes: .stepwise(
                smallest: Dimensions(width: 16, height: 16), largest: Dimensions(width: 1_920, height: 1_080),
                step: Dimensions(width: 2, height: 2)),
            rates: .range(slowest: FrameRate(1), fastest: FrameRate(60), isContinuous: true))
        #expect(best(1_280, 720, 30, webcam + [range]) == .nv12)
    }

    @Test("the focus region lies around the target, within the sensor")
    func region() throws {
        func region(_ x: Double, _ y: Double) throws -> [Int] {
            let sensor = SensorRegion(left: 10, top: 20, width: 640, height: 360)
            let region = sensor.around(try #require(FocusTarget(x: x, y: y)))
            return [region.left, region.top, region.width, region.height]
        }
        #expect(try region(0.5, 0.5) == [10 + 240, 20 + 135, 160, 90])
        #expect(try region(0, 0) == [10, 20, 160, 90])
        #expect(try region(1, 1) == [10 + 480, 20 + 270, 160, 90])
        #expect(try region(0.05, 0.95) == [10, 20 + 270, 160, 90])
    }
}
