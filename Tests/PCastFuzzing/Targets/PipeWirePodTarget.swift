import PCastCodecs
import PCastCore
import PCastDevices

/// Parameters of a stream of PipeWire, such as the format that was chosen.
enum PipeWirePodTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        guard let pod = bytes.withUnsafeBytes({ PipeWirePod($0) }) else { return false }
        if let format = PipeWireVideoFormat(pod) {
            let sides = [format.dimensions.width, format.dimensions.height]
            try check(sides.allSatisfy { (1...PipeWireVideoFormat.longestSide).contains($0) }, "\(format.dimensions)")
        }
        if let format = PipeWireAudioFormat(pod, rate: AudioFrame.sampleRate) {
            try check((1...2).contains(format.channels), "\(format.channels) channels")
        }
        if let offered = bytes.withUnsafeBytes({ PipeWirePod($0, keepsChoices: true) }) {
            let formats = PipeWireCameraFormats.list([offered])
            try check(formats.count <= PipeWireCameraFormats.maximum, "\(formats.count) formats")
            for format in formats {
                guard case .discrete(let size) = format.sizes else { continue }
                let sides = [size.width, size.height]
                try check(
                    sides.allSatisfy { (2...PipeWireVideoFormat.longestSide).contains($0) && $0 % 2 == 0 }, "\(size)")
            }
        }
        // Only values that are not choices are read, and they are written as they were read.
        let written = pod.words.withUnsafeBytes { Array($0) }
        let again = written.withUnsafeBytes { PipeWirePod($0) }
        try check(again?.words == pod.words, "a parameter that changed")
        return true
    }

    static let corpus: [[UInt8]] = {
        let offer = PipeWireVideoFormat.offer(
            frameRate: FrameRate(30), dimensions: Dimensions(width: 1_280, height: 720))
        let chosen = PipeWirePod(
            type: 0x40003, parameter: 4,
            [1: .id(2), 2: .id(1), 0x20001: .id(8), 0x20003: .rectangle(1_280, 720), 0x20004: .fraction(30, 1)])
        let camera = PipeWirePod(
            type: 0x40003, parameter: 3,
            [
                1: .id(2), 2: .id(1), 0x20001: .anyOf([.id(4), .id(23)]),
                0x20003: .range(.rectangle(640, 480), .rectangle(160, 120), .rectangle(1_920, 1_080)),
                0x20004: .anyOf([.fraction(30, 1), .fraction(15, 2)]),
            ])
        let audio = PipeWireAudioFormat.offer(channels: 2, rate: AudioFrame.sampleRate)
        let pods = [offer, chosen, camera, audio] + PipeWireVideoFormat.buffers()
        return pods.map { $0.words.withUnsafeBytes { Array($0) } }
    }()
}
