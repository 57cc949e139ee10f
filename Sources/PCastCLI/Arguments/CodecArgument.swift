import ArgumentParser

/// The codec of published pictures.
enum CodecArgument: String, ExpressibleByArgument, CaseIterable {
    case h264, vp8
}
