import PCastCodecs
import PCastCore

/// A video decoder for the codec of the stream.
struct VideoDecoderByCodec {
    let codec: Codec
    private let decoder: any VideoDecoder

    init(_ codec: Codec) throws {
        self.codec = codec
        decoder = codec == .vp8 ? try VP8Decoder() : try H264Decoder()
    }

    func decode(_ frame: EncodedFrame) throws -> [VideoFrame] { try decoder.decode(frame) }
}
