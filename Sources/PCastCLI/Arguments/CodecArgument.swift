import ArgumentParser

/// The codec of published video.
enum CodecArgument: String, ExpressibleByArgument, CaseIterable {
    case h264, vp8
}
