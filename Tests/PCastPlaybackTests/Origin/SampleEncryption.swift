import COpenSSL
import PCastTestSupport

/// Encrypts the samples of a stamped film with AES-128 in CBC mode: in transport streams according to Apple's "MPEG-2
/// Stream Encryption Format for HTTP Live Streaming", and in fragmented MP4 by the scheme `cbcs` (ISO/IEC 23001-7).
struct SampleEncryption {
    let key: [UInt8] = (0..<16).map { $0 * 7 + 1 }
    let vector: [UInt8] = (0..<16).map { 200 - $0 * 9 }

    /// Encrypts blocks of 16 bytes at offsets, which are chained.
    private func encrypt(_ offsets: [Int], in bytes: inout [UInt8]) {
        guard !offsets.isEmpty else { return }
        let plain = offsets.flatMap { bytes[$0..<($0 + 16)] }
        var secret = [UInt8](repeating: 0, count: plain.count)
        var count: Int32 = 0
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        precondition(EVP_EncryptInit_ex(context, EVP_aes_128_cbc(), nil, key, vector) == 1)
        EVP_CIPHER_CTX_set_padding(context, 0)
        precondition(EVP_EncryptUpdate(context, &secret, &count, plain, Int32(plain.count)) == 1)
        precondition(Int(count) == plain.count)
        for (index, offset) in offsets.enumerated() {
            bytes.replaceSubrange(offset..<(offset + 16), with: secret[(index * 16)..<(index * 16 + 16)])
        }
    }

    // MARK: Transport streams

    /// Encrypts a NAL unit if it is a slice, and applies emulation prevention to the result.
    func encrypted(unit: [UInt8]) -> [UInt8] {
        guard unit.count > 48, [1, 5].contains(unit[0] & 0x1F) else { return unit }
        var bytes = unit
        encrypt(
            stride(from: 32, to: bytes.count, by: 160).filter { bytes.count - $0 > 16 }, in: &bytes)
        var result: [UInt8] = []
        for byte in bytes {
            if byte <= 3, result.suffix(2).elementsEqual([0, 0]) { result.append(3) }
            result.append(byte)
        }
        return result
    }

    /// Encrypts a frame of AAC with a header of 7 bytes.
    func encrypted(audio frame: [UInt8]) -> [UInt8] {
        var bytes = frame
        encrypt(stride(from: 23, to: bytes.count, by: 16).filter { bytes.count - $0 >= 16 }, in: &bytes)
        return bytes
    }

    /// Returns the access units of a byte stream of H.264, each of which begins with a delimiter, as NAL units.
    static func accessUnits(_ bytes: [UInt8]) -> [[[UInt8]]] {
        var starts: [Int] = []
        for index in 0..<max(0, bytes.count - 2) where bytes[index...(index + 2)].elementsEqual([0, 0, 1]) {
            starts.append(index + 3)
        }
        var units: [[[UInt8]]] = []
        for (start, next) in zip(starts, starts.dropFirst().map { $0 - 3 } + [bytes.count]) {
            let end = bytes[start..<next].lastIndex { $0 != 0 }.map { $0 + 1 } ?? start
            let unit = Array(bytes[start..<end])
            if unit.first.map({ $0 & 0x1F }) == 9 { units.append([]) }
            if !units.isEmpty { units[units.count - 1].append(unit) }
        }
        return units
    }

    /// Returns the frames of a file of AAC with ADTS headers.
    static func audioFrames(_ bytes: [UInt8]) -> [[UInt8]] {
        var frames: [[UInt8]] = []
        var rest = bytes[...]
        while rest.count >= 7 {
            let head = Array(rest.prefix(7))
            let size = Int(head[3] & 3) << 11 | Int(head[4]) << 3 | Int(head[5] >> 5)
            frames.append(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        return frames
    }

    /// Returns a transport stream of access units and frames of audio, with their times in units of 90 kHz. The streams have
    /// the types of encrypted streams if `isSignaled` is true.
    func transportStream(
        _ video: [(time: UInt64, [[UInt8]])], _ audio: [(time: UInt64, [UInt8])], isSignaled: Bool = true
    ) -> [UInt8] {
        var builder = TransportStreamBuilder()
        let image: TransportStreamBuilder.Stream = isSignaled ? .encryptedH264 : .h264
        let sound: TransportStreamBuilder.Stream = isSignaled ? .encryptedAAC : .aac
        builder.program([image, sound])
        var sounding = audio[...]
        for (time, units) in video {
            while let frame = sounding.first, frame.time <= time {
                builder.media(sound, encrypted(audio: frame.1), presentation: frame.time, hasLength: true)
                sounding.removeFirst()
            }
            let payload = units.flatMap { unit -> [UInt8] in [0, 0, 0, 1] + encrypted(unit: unit) }
            builder.media(image, payload, presentation: time)
        }
        for frame in sounding {
            builder.media(sound, encrypted(audio: frame.1), presentation: frame.time, hasLength: true)
        }
        return builder.bytes
    }

    // MARK: Fragmented MP4

    private typealias Builder = FragmentedSubtitleBuilder

    private struct Box {
        var type: String
        var contents: [UInt8]

        static func all(in bytes: [UInt8], from first: Int = 0) -> [Box] {
            var boxes: [Box] = []
            var start = first
            while start + 8 <= bytes.count {
                let size = SampleEncryption.number(bytes, start)
                let type = String(decoding: bytes[(start + 4)..<(start + 8)], as: UTF8.self)
                boxes.append(Box(type: type, contents: Array(bytes[(start + 8)..<(start + size)])))
                start += size
            }
            return boxes
        }

        var bytes: [UInt8] { FragmentedSubtitleBuilder.box(type, contents) }
    }

    private static func number(_ bytes: [UInt8], _ offset: Int) -> Int {
        bytes[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int($1) }
    }

    /// Returns the initialization section with encrypted sample entries. The initialization vector is constant.
    func initialization(_ bytes: [UInt8]) -> [UInt8] {
        Box.all(in: bytes).flatMap { box -> [UInt8] in
            switch box.type {
            case "moov", "trak", "mdia", "minf", "stbl": Builder.box(box.type, initialization(box.contents))
            case "stsd":
                Builder.box("stsd", Array(box.contents.prefix(8)) + entry(Box.all(in: box.contents, from: 8)[0]))
            default: box.bytes
            }
        }
    }

    private func entry(_ box: Box) -> [UInt8] {
        let isVideo = box.type != "mp4a"
        let track = Builder.box(
            "tenc", Builder.number(0x0100_0000) + [0, isVideo ? 0x19 : 0, 1, 0], [UInt8](repeating: 0, count: 16),
            [16] + vector)
        let scheme = Builder.box("schm", Builder.number(0), Array("cbcs".utf8), Builder.number(0x10000))
        let protection = Builder.box(
            "sinf", Builder.box("frma", Array(box.type.utf8)), scheme, Builder.box("schi", track))
        return Builder.box(isVideo ? "encv" : "enca", box.contents, protection)
    }

    /// Returns a segment with encrypted samples. `video` is the ID of the track of video.
    func segment(_ bytes: [UInt8], video: Int) -> [UInt8] {
        var result: [UInt8] = []
        let boxes = Box.all(in: bytes)
        for (index, box) in boxes.enumerated() {
            guard box.type == "moof" else {
                // The index has the sizes before the encryption.
                if box.type != "mdat", box.type != "sidx" { result += box.bytes }
                continue
            }
            var data = boxes[index + 1].contents
            let children = Box.all(in: box.contents).map { child in
                child.type == "traf" ? encrypt(track: child, video: video, head: box.contents.count + 16, &data) : child
            }
            let growth = children.reduce(0) { $0 + $1.bytes.count } - box.contents.count
            let moved = children.map { child in
                guard child.type == "traf" else { return child.bytes }
                return Builder.box(
                    "traf",
                    Box.all(in: child.contents).flatMap { part -> [UInt8] in
                        guard part.type == "trun" else { return part.bytes }
                        var run = part.contents
                        run.replaceSubrange(8..<12, with: Builder.number(Self.number(run, 8) + growth))
                        return Builder.box("trun", run)
                    })
            }
            result += Builder.box("moof", moved.flatMap(\.self)) + Builder.box("mdat", data)
        }
        return result
    }

    /// Encrypts the samples of a track, and adds their subsamples (`senc`) if it is the video. `head` is the offset of the
    /// data from the movie fragment.
    private func encrypt(track: Box, video: Int, head: Int, _ data: inout [UInt8]) -> Box {
        let parts = Box.all(in: track.contents)
        guard let header = parts.first(where: { $0.type == "tfhd" })?.contents,
            let run = parts.first(where: { $0.type == "trun" })?.contents
        else { return track }
        let isVideo = Self.number(header, 4) == video
        let (flags, count) = (Self.number(run, 0), Self.number(run, 4))
        let stride = [0x100, 0x200, 0x400, 0x800].count { flags & $0 != 0 } * 4
        var field = 12 + (flags & 4 == 0 ? 0 : 4) + (flags & 0x100 == 0 ? 0 : 4)
        var start = Self.number(run, 8) - head
        var subsamples = Builder.number(2) + Builder.number(count)
        for _ in 0..<count {
            let size = Self.number(run, field)
            var sample = Array(data[start..<(start + size)])
            if isVideo {
                subsamples += encrypt(video: &sample)
            } else {
                encrypt(Array(Swift.stride(from: 0, through: size - 16, by: 16)), in: &sample)
            }
            data.replaceSubrange(start..<(start + size), with: sample)
            (field, start) = (field + stride, start + size)
        }
        return isVideo ? Box(type: "traf", contents: track.contents + Builder.box("senc", subsamples)) : track
    }

    /// Encrypts the slices of a sample, one block of ten behind the first 64 bytes, and returns its subsamples.
    private func encrypt(video sample: inout [UInt8]) -> [UInt8] {
        var subsamples: [(clear: Int, secret: Int)] = []
        var start = 0
        while start + 4 <= sample.count {
            let size = Self.number(sample, start) + 4
            let isSlice = [1, 5].contains(sample[start + 4] & 0x1F)
            let clear = isSlice ? min(size, 68) : size
            encrypt(
                Array(stride(from: start + clear, through: start + size - 16, by: 160)), in: &sample)
            subsamples.append((clear, size - clear))
            start += size
        }
        return Builder.number(subsamples.count, 2)
            + subsamples.flatMap { Builder.number($0.clear, 2) + Builder.number($0.secret) }
    }
}
