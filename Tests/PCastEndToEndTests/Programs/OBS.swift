import Foundation

/// OBS Studio on a virtual display, which streams a scene.
struct OBS: Sendable {
    /// The content of the scene.
    enum Scene {
        case color
        /// A film with its audio, again and again.
        case film(MediaFile)

        /// The source of the scene, as OBS stores it.
        fileprivate var source: String {
            switch self {
            case .color:
                """
                {"id":"color_source","versioned_id":"color_source_v3","name":"Source",
                 "settings":{"color":4282434815,"width":1280,"height":720}}
                """
            case .film(let file):
                """
                {"id":"ffmpeg_source","versioned_id":"ffmpeg_source","name":"Source","mixers":255,"volume":1.0,
                 "settings":{"local_file":"\(file.path)","is_local_file":true,"looping":true,"restart_on_activate":false}}
                """
            }
        }
    }

    /// The settings of the encoder.
    enum Encoding {
        /// Those that the README recommends: a key frame each second and no B-frames.
        case recommended
        /// Those of OBS, except for the size: x264 `veryfast` with B-frames, and a key frame each 250 frames.
        case standard

        fileprivate var settings: String {
            switch self {
            case .recommended:
                """
                Preset=ultrafast
                UseAdvanced=true
                x264Settings=keyint=30 bframes=0 tune=zerolatency
                VBitrate=1500
                """
            case .standard: "Preset=veryfast\nVBitrate=2500"
            }
        }
    }

    private let program: RunningProgram

    /// Starts OBS on the machine of a recipe, which streams to a server of the service `Custom…`.
    static func start(server: String, on platform: RecipePlatform) async throws -> OBS {
        try await start(server: server, key: "", .color, .recommended, in: platform.workspace, by: platform.run)
    }

    /// Starts OBS on this machine, which streams a scene to a server of the service `Custom…`.
    static func start(
        server: String, key: String, _ scene: Scene, _ encoding: Encoding, in workspace: TestWorkspace
    ) async throws -> OBS {
        try await start(server: server, key: key, scene, encoding, in: workspace) { program, arguments, environment in
            guard let path = BuiltProgram.installed(program) else {
                throw EndToEndFailure("\(program) is not installed")
            }
            return try workspace.start(path, arguments, variables: environment)
        }
    }

    private static func start(
        server: String, key: String, _ scene: Scene, _ encoding: Encoding, in workspace: TestWorkspace,
        by run: (String, [String], [String: String]) throws -> RunningProgram
    ) async throws -> OBS {
        let display = try workspace.start(
            "/usr/bin/Xvfb", ["-displayfd", "1", "-nolisten", "tcp", "-noreset", "-screen", "0", "1280x720x24"])
        guard let number = await display.output.lines.first() else {
            throw EndToEndFailure("there is no display\n\(display.report)")
        }
        let home = workspace.path("obs")
        try configure(home, server: server, key: key, scene, encoding)
        let program = try run(
            "obs",
            [
                "--multi", "--startstreaming", "--profile", "Recipe", "--collection", "Recipe", "--minimize-to-tray",
            ],
            [
                "HOME": home, "DISPLAY": ":\(number)", "QT_QPA_PLATFORM": "xcb", "LIBGL_ALWAYS_SOFTWARE": "1",
            ])
        return OBS(program: program)
    }

    func end() async throws { try await program.end() }

    private static func configure(
        _ home: String, server: String, key: String, _ scene: Scene, _ encoding: Encoding
    ) throws {
        let folder = "\(home)/.config/obs-studio"
        let service = try JSONSerialization.data(
            withJSONObject: ["type": "rtmp_custom", "settings": ["server": server, "key": key]])
        let collection = """
            {"name":"Recipe","current_scene":"Scene","current_program_scene":"Scene","scene_order":[{"name":"Scene"}],
             "sources":[
              \(scene.source),
              {"id":"scene","name":"Scene","settings":{"id_counter":1,"items":[{"name":"Source","id":1,"visible":true}]}}]}
            """
        let files: [(String, Data)] = [
            (
                "global.ini",
                Data(
                    """
                    [General]
                    FirstRun=true
                    [Basic]
                    Profile=Recipe
                    ProfileDir=Recipe
                    SceneCollection=Recipe
                    SceneCollectionFile=Recipe
                    """.utf8)
            ),
            (
                "basic/profiles/Recipe/basic.ini",
                Data(
                    """
                    [General]
                    Name=Recipe
                    [Output]
                    Mode=Simple
                    [SimpleOutput]
                    StreamEncoder=x264
                    \(encoding.settings)
                    [Video]
                    BaseCX=640
                    BaseCY=360
                    OutputCX=640
                    OutputCY=360
                    FPSCommon=30
                    """.utf8)
            ),
            ("basic/profiles/Recipe/service.json", service),
            ("basic/scenes/Recipe.json", Data(collection.utf8)),
        ]
        for (name, contents) in files {
            let file = URL(fileURLWithPath: "\(folder)/\(name)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try contents.write(to: file)
        }
    }
}
