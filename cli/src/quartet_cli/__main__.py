from quartet_cli.main import main

if __name__ == "__main__":
    main()
