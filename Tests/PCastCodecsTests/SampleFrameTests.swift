import Glibc
import PCastCodecs
import PCastCore
import Testing

@Suite struct SampleFrameTests {
    @Test("a pool reuses memory, and only for the size that it fits") func pool() {
        let pool = VideoFramePool(capacity: 2)
        func make(_ width: Int) -> VideoFrame {
            pool.frame(
                dimensions: Dimensions(width: width, height: 36), captureTime: nil,
                timestamp: MediaTime(ticks: 0, rate: .video))
        }
        let first = make(64).memory.baseAddress
        let again = make(64)
        #expect(again.memory.baseAddress == first)
        let other = make(128)
        #expect(other.memory.baseAddress != first)
        #expect(other.memory.count >= VideoFrame.layout(other.dimensions).byteCount)
        let many = (0..<40).map { _ in make(64) }
        #expect(Set(many.map { $0.memory.baseAddress! }).count == 40)
    }

    @Test("a frame outlives its pool") func poolGone() {
        var pool: VideoFramePool? = VideoFramePool()
        let frame = pool!.frame(
            dimensions: SampleFrame.size, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .video))
        pool = nil
        frame.planeY.update(repeating: 7, count: frame.strideY * frame.dimensions.height)
        #expect(frame.planeY[100] == 7)
    }

    @Test("a scaled frame is the same frame") func scale() throws {
        let scaler = FrameScaler()
        let frame = SampleFrame.plain(y: 120, u: 90, v: 200, size: SampleFrame.size)
        let small = scaler.scale(frame, to: Dimensions(width: 320, height: 180))
        #expect(small.dimensions == Dimensions(width: 320, height: 180))
        for (value, expected) in [(small.planeY[500], 120), (small.planeU[500], 90), (small.planeV[500], 200)] {
            #expect(abs(Int(value) - expected) <= 1)
        }
        #expect(scaler.scale(frame, to: SampleFrame.size) === frame)
        let there = scaler.scale(SampleFrame.moving(3), to: Dimensions(width: 1_280, height: 720))
        let back = scaler.scale(there, to: SampleFrame.size)
        #expect(SampleFrame.peakSignalToNoiseRatio(back, SampleFrame.moving(3)) > 28)
        #expect(back.captureTime == SampleFrame.moving(3).captureTime)
        #expect(back.timestamp == SampleFrame.moving(3).timestamp)
    }

    @Test("a reduced frame is the same frame with even sides") func reduce() {
        let reducer = FrameScaler()
        let frame = SampleFrame.plain(y: 120, u: 90, v: 200, size: Dimensions(width: 1_280, height: 720))
        let small = reducer.reduce(frame, by: 4)
        #expect(small.dimensions == Dimensions(width: 320, height: 180))
        for (value, expected) in [(small.planeY[500], 120), (small.planeU[500], 90), (small.planeV[500], 200)] {
            #expect(abs(Int(value) - expected) <= 1)
        }
        #expect(small.timestamp == frame.timestamp && small.captureTime == frame.captureTime)
        #expect(reducer.reduce(frame, by: 1) === frame)
        let odd = FrameScaler.dimensions(of: Dimensions(width: 854, height: 480), reducedBy: 4)
        #expect(odd == Dimensions(width: 212, height: 120))
    }

    @Test("still images are complete files of their type and size") func stills() throws {
        let frame = SampleFrame.moving(1, size: Dimensions(width: 322, height: 182))
        let png = try StillImage.encode(frame, as: .png)
        #expect(png.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]))
        #expect(png[16..<24].elementsEqual([0, 0, 1, 0x42, 0, 0, 0, 0xB6]))
        #expect(png.suffix(8).elementsEqual([0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82]))
        let jpeg = try StillImage.encode(frame, as: .jpeg)
        #expect(jpeg.starts(with: [0xFF, 0xD8, 0xFF]))
        #expect(jpeg.suffix(2).elementsEqual([0xFF, 0xD9]))
    }

    @Test("a still image has the colors of the frame", arguments: ["png", "jpg"])
    func stillColours(_ ending: String) throws {
        try TemporaryFolder.with { folder in
            let frame = SampleFrame.plain(y: 81, u: 90, v: 240, size: Dimensions(width: 64, height: 48))  // red
            let path = "\(folder)/still.\(ending)"
            try StillImage.write(frame, to: path)
            let reader = try MediaReader(uri: path)
            guard case .video(let read)? = try reader.next() else {
                Issue.record("no frame was returned")
                return
            }
            #expect(read.dimensions == frame.dimensions)
            for (value, expected) in [(read.planeY[600], 81), (read.planeU[300], 90), (read.planeV[300], 240)] {
                #expect(abs(Int(value) - expected) <= 3)
            }
            #expect(try reader.next() == nil)
        }
    }

    @Test("a still image with another extension, or in an unwritable place, throws") func stillErrors() {
        let frame = SampleFrame.plain(y: 16, u: 128, v: 128, size: Dimensions(width: 16, height: 16))
        #expect(throws: CodecError.self) { try StillImage.write(frame, to: "still.gif") }
        #expect(throws: CodecError.self) { try StillImage.write(frame, to: "/nowhere/at/all.png") }
    }
}
