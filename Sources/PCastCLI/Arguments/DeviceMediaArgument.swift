import ArgumentParser

/// Which devices to list.
enum DeviceMediaArgument: String, ExpressibleByArgument, CaseIterable {
    case video, audio
}
